// Selects the elements of a vector that are largest by their absolute value.
//
// It finds the magnitude of the smallest one that is taken by digits of its
// bits, the highest first (radix selection): one pass over the elements counts
// how many have each digit. What is taken follows from the elements alone, and
// not from the parts or threads.

#pragma once

#include "runtime/cpu/thread_pool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gradus::runtime {

/// The elements, and where what is selected of them goes. A null threshold is
/// none.
template <typename Number> struct Selected {
  std::span<const Number> numbers; // up to 2^31 - 1
  const Number *threshold = nullptr;
  std::span<int32_t> indices; // ascending; then the number of elements
  std::span<Number> values;   // as many; then 0
};

/// The memory that a search works in, and the parts into which it divides the
/// elements.
struct SelectionScratch {
  /// For each part 2^digitBits u32, and of what is listed a number and a u32;
  /// aligned as these are.
  void *memory = nullptr;
  size_t parts = 1;
  int digitBits = 8; // from 4 to 16
  size_t listed = 0; // elements of a part that may be listed; an even number
};

/// A search of the elements that are largest by their absolute value. It may
/// run again and again, each time on what the elements are then.
template <typename Number> class Selection {
public:
  /// All that is referred to must outlive this.
  Selection(Selected<Number> selected, SelectionScratch scratch,
            ThreadPool &pool);

  /// Allocates nothing.
  void run();

private:
  using Bits = std::conditional_t<sizeof(Number) == 4, int32_t, int64_t>;

  /// A part of the elements. It counts those that are taken.
  struct Part {
    int64_t begin = 0, end = 0;    // of its elements
    int64_t larger = 0, equal = 0; // than the cut
    int64_t first = 0, last = 0;   // of its entries
    int64_t listed = -1;           // elements in its list; -1: there is none
  };

  void findCut();
  Bits guess();
  bool narrowDown();
  void chooseDigit(int width);
  bool isAtCut(Number number) const;
  Bits lowest() const;
  void countAboveThreshold();
  void divideEntries();
  void leaveRest();

  template <typename Work> void onParts(Work work);
  void countDigits(size_t part, int width);
  void write(size_t part);
  void list(size_t part);
  template <typename Visit>
  void forEachFrom(size_t part, Bits low, const Visit &visit);
  uint32_t *countsOf(size_t part);
  uint32_t *listedIndices(size_t part);
  Number *listedNumbers(size_t part);

  Selected<Number> selected_;
  SelectionScratch scratch_;
  ThreadPool &pool_;
  std::vector<Part> parts_;
  // The cut: what has a higher prefix is taken, and `wanted_` of those with the
  // same, in their order, if they reach `least_`.
  Bits prefix_ = 0;
  int shift_ = 0;      // of the prefix
  int64_t wanted_ = 0; // of those with the prefix
  Bits least_ = 0;     // the magnitude of the threshold
  Bits floor_ = 0;     // what is smaller is not looked at
};

extern template class Selection<float>;
extern template class Selection<double>;

} // namespace gradus::runtime
