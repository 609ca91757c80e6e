// What was begun on the emulated card and when it runs: in any order that
// streams, events and edges allow, chosen by a seed, and not before somebody
// waits. So what only happened to be done in time on a card is found here.
#pragma once

#include "runtime/cuda/driver.h"

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
  std::function<Result()> run; // empty: only others wait for it
  std::vector<std::shared_ptr<FakeOp>> after;
  bool isCall = false; // of a function of the host
  /// Of one launch, whose own edges were checked before; 0: none.
  uint64_t launch = 0;
  int64_t nanoseconds = 0; // on the clock when it was done

  bool isDone() const { return nanoseconds != 0; }
};
using FakeOpRef = std::shared_ptr<FakeOp>;

class FakeWork {
public:
  /// Its clock tells nanoseconds, of the time or of a test's `clock`, or, where
  /// it counts operations, those.
  explicit FakeWork(unsigned seed, bool countsOperations = false,
                    const int64_t *clock = nullptr)
      : random_(seed), countsOperations_(countsOperations), clock_(clock) {}

  /// In words what is wrong with it: it may run beside another op that touches
  /// the same bytes, which one of the two writes.
  std::string add(const FakeOpRef &op);

  /// Runs one op that may run now, if there is any.
  Result step();
  /// Runs ops until this one is done; what comes later is behind it from then.
  Result finish(const FakeOpRef &op);
  Result finishAll();
  /// Forgets all that has not run.
  void drop();

  /// The name of an op that has not run and touches these bytes; else empty.
  std::string userOf(DevicePointer start, uint64_t bytes) const;
  unsigned random() { return unsigned(random_()); }
  /// A kernel has executed so many.
  void count(int64_t operations) { operations_ += operations; }

private:
  int64_t now() const;
  void noteFinished(const FakeOpRef &op);

  std::mt19937 random_;
  bool countsOperations_;
  const int64_t *clock_;
  int64_t operations_ = 1; // a clock that has begun is not at 0
  std::vector<FakeOpRef> waiting_;
  /// Those of which the host does not know that they are done.
  std::vector<FakeOpRef> begun_;
};

/// Of the first two ops without a path between them that must not run at the
/// same time: what is wrong. `after` numbers the ops before each.
std::string unorderedPair(std::span<const FakeOp *const> ops,
                          std::span<const std::vector<uint32_t>> after);

} // namespace gradus::runtime::cuda
