// The emulated GPU: the driver's table of functions, implemented in this
// process.
//
// It detects what a real GPU ignores or answers with a crash: accesses outside
// of allocations, memory used after it was freed or before it was written,
// unordered commands that access the same bytes, invalid handles, pinned memory
// changed during an upload. Work runs in a random order within the rules, on
// code that runtime/emulated/ executes. Faults have the codes of a real GPU,
// and `report` gives the words.
#pragma once

#include "runtime/cuda/driver/driver.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

class FakeState;

struct FakeOptions {
  unsigned seed = 0; // of the order of work
  size_t memoryBytes = size_t(1) << 30;
  int devices = 1;
  bool logs = false; // keeps the names of what runs
  /// Whether the library's own choice of algorithm is not the fastest.
  bool slowLibrary = false;
  /// The epilogue bits for which the library has no algorithm
  /// (EmulatedLibraryOptions).
  uint32_t lackedEpilogues = 0;
  /// Whether events give the number of operations that kernels executed instead
  /// of nanoseconds.
  bool countsOperations = false;
  /// The test's nanoseconds, starting from 1, to use as the clock; null: the
  /// real time.
  const int64_t *clock = nullptr;

  // Injected faults; -1: never.
  int64_t outOfMemoryAt = -1; // the n-th allocation on the GPU, from 0
  int64_t lostAt = -1;        // the n-th launch, from 0
  Result lostAs = Result::launchFailed;
};

/// The driver; only one per process at a time. All its resources must be
/// released before it is destroyed.
class FakeDriver {
public:
  explicit FakeDriver(const FakeOptions &options = {});
  ~FakeDriver();

  const Driver &driver() const { return driver_; }
  /// Lets the n-th call from now on, counted from 0, fail once without effect,
  /// if it is one that may fail; never if n is negative.
  void failAfter(int64_t calls);
  /// The first fault; empty: none.
  std::string report() const;
  /// The unreleased resources: "1 event, 2 allocations"; empty: none.
  std::string leaks() const;
  /// The names of all that has run, in order; only with `logs`.
  const std::vector<std::string> &log() const;

private:
  std::unique_ptr<FakeState> state_;
  Driver driver_;
};

} // namespace gradus::runtime::cuda
