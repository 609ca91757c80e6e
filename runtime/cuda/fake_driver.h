// The emulated card: the driver's table of functions, served in this process.
//
// It checks what a card lets pass or answers with a crash: bytes outside of
// allocations, memory used after it was freed or before it was written, two
// commands that touch the same bytes and that no edge, stream or event orders,
// handles that are gone, pinned memory changed under an upload. Work runs in a
// random order within what is allowed, on what runtime/emulated/ makes of the
// kernels. Faults come as the codes a card gives, with words in `report`.
#pragma once

#include "runtime/cuda/driver.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

class FakeState;

struct FakeOptions {
  unsigned seed = 0; // of all orders
  size_t memoryBytes = size_t(1) << 30;
  int devices = 1;
  bool logs = false; // names of what runs are kept
  /// The library by itself takes an algorithm that is not the fastest.
  bool slowLibrary = false;
  /// Bits of epilogues that the library has no algorithm for
  /// (EmulatedLibraryOptions).
  uint32_t lackedEpilogues = 0;
  /// Events tell operations that kernels have executed in place of
  /// nanoseconds.
  bool countsOperations = false;
  /// Nanoseconds that a test counts, from 1 on, in place of the time; null:
  /// the time.
  const int64_t *clock = nullptr;

  // Faults on purpose; -1: never.
  int64_t outOfMemoryAt = -1; // the n-th allocation on the card, from 0
  int64_t lostAt = -1;        // the n-th launch, from 0
  Result lostAs = Result::launchFailed;
};

/// One at a time in a process; what was made with it is given back before.
class FakeDriver {
public:
  explicit FakeDriver(const FakeOptions &options = {});
  ~FakeDriver();

  const Driver &driver() const { return driver_; }
  /// The n-th call from now on, from 0, does nothing and fails once, if it is
  /// one that may fail at all; never where n is below 0.
  void failAfter(int64_t calls);
  /// The first thing that was wrong; empty: nothing.
  std::string report() const;
  /// What is not given back: "1 event, 2 allocations"; empty: nothing.
  std::string leaks() const;
  /// Names of all that has run, in that order; with `logs` alone.
  const std::vector<std::string> &log() const;

private:
  std::unique_ptr<FakeState> state_;
  Driver driver_;
};

} // namespace gradus::runtime::cuda
