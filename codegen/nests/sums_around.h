// Tells between which sums over ranks an op may run, so that a kernel does not
// keep a sum waiting for what other sums need.
#pragma once

#include "codegen/plan/plan.h"

#include "llvm/ADT/DenseMap.h"

namespace gradus {

class SumsAround {
public:
  SumsAround() = default;
  explicit SumsAround(mlir::Block &block);

  /// Whether two ops wait for the same sums, and the same sums wait for them:
  /// in one kernel they delay none. True if the block has no sums.
  bool agree(mlir::Operation *one, mlir::Operation *other) const {
    return around_.lookup(one) == around_.lookup(other);
  }

  /// Records an op that replaces another.
  void replace(mlir::Operation *joined, mlir::Operation *old) {
    around_[joined] = Around(around_.lookup(old));
  }

private:
  /// The last sum that an op waits for, counted from 1, and the first one that
  /// waits for it, counted from the end, by their numbers; 0: none.
  struct Around {
    int64_t after = 0, before = 0;

    bool operator==(const Around &) const = default;
  };

  llvm::DenseMap<mlir::Operation *, Around> around_;
};

} // namespace gradus
