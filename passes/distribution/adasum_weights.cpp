// Combines what the updates of ranks have changed by AdaSum.
//
// Runs behind the optimizer, whichever it is: it sees only writes. Each rank's
// update is that of its own gradients. The states of ranks stay equal: what an
// optimizer remembers is averaged, so a checkpoint is one file, and a run can
// go on with any number of ranks.

#include "passes/distribution/adasum.h"

#include "passes/distribution/own_values.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_ADASUMWEIGHTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct AdasumWeightsPass : impl::AdasumWeightsBase<AdasumWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    settings = distributionOf(getOperation());
    if (!isByAdasum(settings, AdasumOf::weights))
      return;
    groups = changeGroups(&getContext(), settings);
    for (GraphOp train : trainGraphs(getOperation()))
      if (!hasGroups(train, groups.getAcross()) && failed(combine(train)))
        return signalPassFailure();
  }

  /// The writes of a role that follow from a rank's own samples, but those of
  /// states that each rank has for itself.
  SmallVector<WriteOp> ownWrites(GraphOp train, Role role) {
    llvm::DenseSet<Value> own = ownValues(getOperation(), train);
    SmallVector<WriteOp> writes;
    for (auto write : train.getBody().front().getOps<WriteOp>()) {
      StateOp state = getOperation().getState(write.getState());
      if (state && state.getRole() == role && own.contains(write.getValue()) &&
          !isOwnState(getOperation(), write.getState()) &&
          isa<FloatType>(state.getType().getElementType()))
        writes.push_back(write);
    }
    return writes;
  }

  LogicalResult combine(GraphOp train) {
    SmallVector<WriteOp> weights = ownWrites(train, Role::parameter);
    if (weights.empty())
      return success();
    if (failed(combineChanges(train, weights)))
      return failure();
    // A slot that follows from what is written is equal on all ranks by now.
    SmallVector<WriteOp> slots = ownWrites(train, Role::slot);
    for (WriteOp slot : slots) {
      OpBuilder builder(slot);
      Value ranks = readRanks(builder, slot.getLoc(), getOperation());
      if (!ranks)
        return failure();
      slot.getValueMutable().assign(meanOverRanks(
          Arithmetic(builder, slot.getLoc()), slot.getValue(), ranks));
    }
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("AdasumWeights").category(getArgument()))
        << ("@" + train.getSymName() + ": AdaSum of the changes of " +
            Twine(weights.size()) + " parameters; " + Twine(slots.size()) +
            " slots are means over ranks")
               .str();
    return success();
  }

  /// Lets parameters move by the combined changes, and what is made of a
  /// written parameter see where it has moved.
  LogicalResult combineChanges(GraphOp train, ArrayRef<WriteOp> weights) {
    llvm::DenseSet<Operation *> before = madeFor(weights);
    SmallVector<RankValue> changes;
    for (WriteOp write : weights) {
      Value updated = write.getValue();
      changes.push_back(changeOf(write));
      Operation *change = changes.back().own.getDefiningOp();
      updated.replaceUsesWithIf(write.getValue(), [&](OpOperand &use) {
        return use.getOwner() != change && !before.contains(use.getOwner());
      });
    }
    combineOverRanks(changes, groups);
    if (sortTopologically(&train.getBody().front()))
      return success();
    return train.emitError("@")
           << train.getSymName()
           << " has updates that depend on what others have written";
  }

  /// The ops from which written values follow: what makes changes.
  static llvm::DenseSet<Operation *> madeFor(ArrayRef<WriteOp> writes) {
    llvm::DenseSet<Operation *> makers;
    SmallVector<Value> open;
    for (WriteOp write : writes)
      open.push_back(write.getValue());
    while (!open.empty())
      if (Operation *maker = open.pop_back_val().getDefiningOp();
          maker && makers.insert(maker).second)
        llvm::append_range(open, maker->getOperands());
    return makers;
  }

  /// Makes the written value old - change, and tells the change.
  RankValue changeOf(WriteOp write) {
    OpBuilder builder(write);
    Arithmetic math(builder, write.getLoc());
    std::string name = write.getState().str();
    Value updated = write.getValue();
    Value old = readState(builder, math.loc, name, tensorType(updated));
    Value change = math.subtract(old, updated);
    auto moved = arith::SubFOp::create(builder, math.loc, old, change);
    write.getValueMutable().assign(moved);
    return {change, name, &moved->getOpOperand(1)};
  }

  DistributionSettings settings;
  GroupsAttr groups;
};

} // namespace
} // namespace gradus
