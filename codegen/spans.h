// Finds the places at which an order of ops can still be cut in two once some
// ops of it are joined.
//
// As long as each op needs only those before it, what stands before a place
// needs nothing behind it. Ops that are joined are at several places: one that
// is on both sides of a place leads what needs it to what it needs itself.
#pragma once

#include <cstddef>
#include <vector>

namespace gradus {

class Spans {
public:
  explicit Spans(size_t places = 0) : joined_(places, 0) {}

  /// Joins the ops at two places, the lower first: they are one op now.
  void join(size_t first, size_t last) {
    for (size_t place = first; place < last; ++place)
      ++joined_[place + 1];
  }

  /// The highest cut that is not behind a place: what is before the cut needs
  /// nothing from the cut on.
  size_t cutBefore(size_t place) const {
    while (joined_[place])
      --place;
    return place;
  }

private:
  std::vector<unsigned> joined_; // ops before each place and not before it
};

} // namespace gradus
