// The work on the emulated GPU and its order: any that streams, events and
// edges allow, chosen by a seed, and not before the host waits. This detects
// code that only happens to be in time on a real GPU.
#pragma once

#include "runtime/cuda/driver/driver.h"

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct FakeOp {
  std::string name;
  std::vector<Access> accesses;
  std::function<Result()> run; // empty: only a dependency of others
  std::vector<std::shared_ptr<FakeOp>> after;
  bool isCall = false; // a host function
  /// The launch that it belongs to, whose edges were checked before; 0: none.
  uint64_t launch = 0;
  int64_t nanoseconds = 0; // clock when it was done

  bool isDone() const { return nanoseconds != 0; }
};
using FakeOpRef = std::shared_ptr<FakeOp>;

class FakeWork {
public:
  /// The clock gives nanoseconds, of the real time or a test's `clock`, or with
  /// `countsOperations` the number of operations.
  explicit FakeWork(unsigned seed, bool countsOperations = false,
                    const int64_t *clock = nullptr)
      : random_(seed), countsOperations_(countsOperations), clock_(clock) {}

  /// Adds an op. Returns an error if it may run at the same time as another op
  /// that accesses the same bytes, if one of them writes.
  std::string add(const FakeOpRef &op);

  /// Runs one op that is ready, if there is any.
  Result step();
  /// Runs ops until this one is done; ops added later come after it.
  Result finish(const FakeOpRef &op);
  Result finishAll();
  /// Drops all work that has not run.
  void drop();

  /// The name of a pending op that accesses these bytes; else empty.
  std::string userOf(DevicePointer start, uint64_t bytes) const;
  unsigned random() { return unsigned(random_()); }
  /// Adds operations that a kernel has executed.
  void count(int64_t operations) { operations_ += operations; }

private:
  int64_t now() const;
  void noteFinished(const FakeOpRef &op);

  std::mt19937 random_;
  bool countsOperations_;
  const int64_t *clock_;
  int64_t operations_ = 1; // 0 would mean not done
  std::vector<FakeOpRef> waiting_;
  /// Ops that the host does not know to be done.
  std::vector<FakeOpRef> begun_;
};

/// The error of the first two ops that conflict and have no path between them.
/// `after` lists the numbers of the ops before each.
std::string unorderedPair(std::span<const FakeOp *const> ops,
                          std::span<const std::vector<uint32_t>> after);

} // namespace gradus::runtime::cuda
