// The sums of a plan that have begun and not ended.
//
// The commands `start` and `finish` call it, in the order of the program, which
// is that of every rank.

#pragma once

#include "runtime/collectives/collectives.h"

#include <memory>
#include <span>
#include <vector>

namespace gradus::runtime {

/// One thread uses it, that which runs the plan.
class OpenSums {
public:
  explicit OpenSums(std::shared_ptr<Collectives> collectives)
      : collectives_(std::move(collectives)) {}

  /// Begins to sum buffers. They belong to the call, and are not touched by
  /// others, until finish() has returned for it.
  void begin(std::span<const Collective> sums);
  /// Waits for the oldest call of begin() that was not waited for.
  Status finish();
  /// Forgets those that a step which has failed did not wait for.
  void clear();

private:
  std::shared_ptr<Collectives> collectives_;
  std::vector<uint64_t> numbers_; // of collectives
  std::vector<size_t> ends_;      // in numbers_, of each call of begin()
  size_t waitedFor_ = 0;          // calls
};

} // namespace gradus::runtime
