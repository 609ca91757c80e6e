// Lets each rank train its own weights for some updates, and then all of them
// meet: each goes on from the mean, or from where an outer optimizer comes to
// that sees the way to the mean as a gradient. Douillard et al., "DiLoCo:
// Distributed Low-Communication Training of Language Models",
// https://arxiv.org/abs/2311.08105, algorithm 1; with a rate of 1 and without
// momentum Stich, "Local SGD Converges Fast and Communicates Little",
// https://arxiv.org/abs/1805.09767.
//
// What an optimizer remembers, and running statistics, become their mean over
// ranks where these meet, so that all ranks have one state then: a checkpoint
// of it is one file, and any number of ranks can go on from it.
//
// Runs behind the optimizer, whichever it is: it sees only writes.

#include "ir/arithmetic.h"
#include "passes/distribution/own_values.h"
#include "passes/passes.h"
#include "passes/step_variants.h"
#include "passes/update/average_weights.h"
#include "passes/update/own_weights.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_LOCALSTEPS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// An attribute of @train where ranks meet already.
constexpr StringLiteral kMeets = "gradus.meets";
constexpr StringLiteral kBegin = "train_begin", kMeet = "train_meet";
constexpr StringLiteral kMet = "local_steps/met/",
                        kMomentum = "local_steps/momentum/";

struct LocalStepsPass : impl::LocalStepsBase<LocalStepsPass> {
  using Base::Base;

  void runOnOperation() override {
    settings = distributionOf(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (settings.mode == DistributionMode::none ||
        settings.reduce != ReduceType::local || !train ||
        train->hasAttr(kMeets))
      return;
    if (failed(check(train)) || failed(split(train)))
      return signalPassFailure();
    train->setAttr(kMeets, UnitAttr::get(&getContext()));
  }

private:
  //===-- checks ----------------------------------------------------------===//

  LogicalResult check(GraphOp train) {
    if (failed(checkOwnWeights(train, "local")))
      return failure();
    if (movingAverage().of(getOperation()))
      return ownWeightsExclude(train, "local")
             << "ema: the weights of a step are each rank's own";
    if (!train.getBody().front().getOps<GuardOp>().empty())
      return ownWeightsExclude(train, "local")
             << "steps that are skipped (on_nonfinite \"skip\", a "
                "dynamic loss_scale), about which ranks would have to "
                "agree in each of them; take precision \"bf16\" or a "
                "static loss_scale";
    return success();
  }

  //===-- variants --------------------------------------------------------===//

  LogicalResult split(GraphOp train) {
    // Running statistics become their mean where ranks meet, too.
    SmallVector<WriteOp> own = markOwnWrites(
        getOperation(), train, {Role::parameter, Role::slot, Role::buffer});
    report(train, own.size());
    if (settings.local.every == 1)
      return meet(train);
    SmallVector<std::string> names = {kMeet.str()};
    GraphOp meeting = cloneVariant(train, kMeet, kUpdates);
    if (hasOuter()) {
      if (failed(begin(cloneVariant(train, kBegin, kUpdates))))
        return failure();
      names.push_back(kBegin.str());
    }
    if (failed(meet(meeting)))
      return failure();
    return addChoices(getOperation(), names, /*first=*/hasOuter() ? 2 : 0,
                      [&](OpBuilder &builder, Value update) {
                        return meetsAt(builder, update);
                      });
  }

  /// Whether the meeting is more than a mean.
  bool hasOuter() const {
    return settings.local.outer.learningRate != 1 ||
           settings.local.outer.momentum != 0;
  }

  /// 1 at the last of each `every` updates, which count from 0, else 0.
  Value meetsAt(OpBuilder &builder, Value update) {
    Arithmetic math(builder, update.getLoc());
    Value number = math.make<arith::AddIOp>(update, math.number(1, update));
    Value since = math.make<arith::RemSIOp>(
        number, math.number(settings.local.every, number));
    Value meets =
        math.compare(arith::CmpIPredicate::eq, since, math.number(0, since));
    return math.select(meets, math.number(1, number), math.number(0, number));
  }

  /// Adds a slot. It is equal on all ranks, but follows from weights of which
  /// only the meetings know that they are.
  LogicalResult ensureSlot(const std::string &name, RankedTensorType type) {
    States states(getOperation());
    if (failed(states.ensure(name, type, Role::slot)))
      return failure();
    markOwn(states.find(name));
    return success();
  }

  bool isParameter(WriteOp write) {
    return getOperation().getState(write.getState()).getRole() ==
           Role::parameter;
  }

  /// Keeps the parameters before the first update, from which all ranks start.
  LogicalResult begin(GraphOp graph) {
    OpBuilder builder = OpBuilder::atBlockBegin(&graph.getBody().front());
    for (WriteOp write : ownWrites(getOperation(), graph)) {
      if (!isParameter(write))
        continue;
      RankedTensorType type = tensorType(write.getValue());
      std::string met = (kMet + write.getState()).str();
      if (failed(ensureSlot(met, type)))
        return failure();
      Value start = readState(builder, write.getLoc(), write.getState(), type);
      writeState(builder, write.getLoc(), met, start);
    }
    return success();
  }

  //===-- the meeting -----------------------------------------------------===//

  LogicalResult meet(GraphOp graph) {
    OpBuilder builder = OpBuilder::atBlockBegin(&graph.getBody().front());
    Value ranks = readRanks(builder, graph.getLoc(), getOperation());
    if (!ranks)
      return failure();
    for (WriteOp write : ownWrites(getOperation(), graph)) {
      Value start;
      if (isParameter(write) && hasOuter())
        start = startOf(builder, write);
      builder.setInsertionPoint(write);
      Arithmetic math(builder, write.getLoc());
      Value mean = meanOverRanks(math, write.getValue(), ranks);
      if (start && failed(go(math, write, start, mean)))
        return failure();
      if (!start)
        write.getValueMutable().assign(mean);
    }
    return success();
  }

  /// Reads where all ranks were when they met last, or before the step where
  /// they meet in each.
  Value startOf(OpBuilder &builder, WriteOp write) {
    OpBuilder::InsertionGuard keep(builder);
    builder.setInsertionPointToStart(write->getBlock());
    std::string name = settings.local.every > 1
                           ? (kMet + write.getState()).str()
                           : write.getState().str();
    return readState(builder, write.getLoc(), name,
                     tensorType(write.getValue()));
  }

  /// start - rate * m, with m = momentum * m + (start - mean); Nesterov's looks
  /// ahead along m once more.
  LogicalResult go(const Arithmetic &math, WriteOp write, Value start,
                   Value mean) {
    Value way = math.subtract(start, mean), step = way;
    if (settings.local.outer.momentum != 0) {
      std::string name = (kMomentum + write.getState()).str();
      if (failed(ensureSlot(name, tensorType(way))))
        return failure();
      Value old = readState(math.builder, math.loc, name, tensorType(way));
      Value moved =
          math.add(math.scale(settings.local.outer.momentum, old), way);
      writeState(math.builder, math.loc, name, moved);
      step =
          settings.local.outer.nesterov
              ? math.add(way, math.scale(settings.local.outer.momentum, moved))
              : moved;
    }
    Value next = math.subtract(
        start, math.scale(settings.local.outer.learningRate, step));
    write.getValueMutable().assign(next);
    if (settings.local.every > 1)
      writeState(math.builder, math.loc, (kMet + write.getState()).str(), next);
    return success();
  }

  void report(GraphOp train, size_t states) {
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("LocalSteps").category(getArgument()))
        << ("ranks train " + Twine(states) +
            " states of their own, and meet after every " +
            Twine(settings.local.every) + " updates")
               .str();
  }

  DistributionSettings settings;
};

} // namespace
} // namespace gradus
