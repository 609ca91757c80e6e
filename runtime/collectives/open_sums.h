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
  /// Gives up those that are open where a step fails: the group fails with it,
  /// as its other ranks would add other sums to them.
  void giveUp(const Status &failure);
  /// Keeps the memory of those that were given up from being freed too early.
  void keep(std::shared_ptr<const void> memory);

private:
  std::shared_ptr<Collectives> collectives_;
  std::vector<uint64_t> numbers_; // of collectives
  std::vector<size_t> ends_;      // in numbers_, of each call of begin()
  size_t waitedFor_ = 0;          // calls
  bool areGivenUp_ = false;
};

} // namespace gradus::runtime
