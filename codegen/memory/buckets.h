// Lays what travels together to other ranks in one block of memory: a gradient
// is made where it is sent from, so that nothing packs it.
#pragma once

#include "codegen/memory/liveness.h"

#include "llvm/ADT/MapVector.h"

namespace gradus {

/// The buckets of a graph, which are the operands of each plan.start, and where
/// each member lies. A bucket of one is like any other value.
class Buckets {
public:
  using Ranges = llvm::MapVector<mlir::Value, LiveRange>;

  /// `isPlaced` tells which values have memory outside of the arena.
  Buckets(llvm::ArrayRef<mlir::Operation *> commands, const Ranges &ranges,
          llvm::function_ref<bool(mlir::Value)> isPlaced);

  /// Whether a result, live in `range`, may take over the memory of `home`. A
  /// block lives as long as any of its members, so what outlives the sums of a
  /// bucket leaves it; and members keep the sizes that they have.
  bool mayTakeOver(mlir::Value home, mlir::Value result, LiveRange range) const;
  /// Notes that a result lies in the memory of `home`.
  void takeOver(mlir::Value home, mlir::Value result);

  /// Lays the members of each bucket one after the other. `homeOf` tells whose
  /// memory a member has.
  void layOut(llvm::function_ref<mlir::Value(mlir::Value)> homeOf);

  /// The place of a value in a block.
  struct Slot {
    mlir::Value block; // its first member, or the value itself
    int64_t offset = 0;
    int64_t size = 0; // of the block
  };
  Slot slotOf(mlir::Value home) const;

private:
  struct Bucket {
    llvm::SmallVector<mlir::Value> members;
    int64_t begun = 0; // the number of its plan.start
    /// One past the last command that reads one of the sums which do not live
    /// up to the end of the graph.
    int64_t end = 0;
  };
  void add(plan::StartOp start, const Ranges &ranges,
           llvm::function_ref<bool(mlir::Value)> isPlaced);

  std::vector<Bucket> buckets_;
  llvm::DenseMap<mlir::Value, size_t> bucketOf_; // of members and their homes
  llvm::DenseMap<mlir::Value, Slot> slots_;      // of the homes of members
};

} // namespace gradus
