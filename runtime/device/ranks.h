// The other processes, or threads, that run a plan together with this one.
//
// The commands `start` and `finish` of a plan call it, in the order of the
// program, which is that of every rank. A plan without it is run by one rank
// alone, whose sums are what it has.

#pragma once

#include "runtime/tensor_type.h"

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gradus::runtime {

/// Elements in host memory that are summed in place.
struct Summand {
  DType type = DType::f32;
  uint8_t *data = nullptr; // aligned to 64 bytes
  uint64_t count = 0;      // of elements
};

/// One thread uses it, that which runs the plan.
class Ranks {
public:
  virtual ~Ranks() = default;

  /// The own number, in [0, ranks()), and how many there are.
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Begins to sum over all ranks, by one fixed tree. The summands belong to
  /// the call, and are not touched by others, until finish() has returned for
  /// it; the span itself may end before.
  virtual Status begin(std::span<const Summand> summands) = 0;
  /// Waits for the oldest sum that was begun and not waited for.
  virtual Status finish() = 0;
};

} // namespace gradus::runtime
