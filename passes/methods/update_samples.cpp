// Adds up what divides losses; see update_samples.h.

#include "passes/methods/update_samples.h"

#include "passes/clock.h"
#include "passes/distribution/adasum.h"
#include "passes/model/loss_divisor.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

using namespace mlir;

namespace gradus {
namespace {

/// The state adds up what divides the losses of an update's micro-batches.
constexpr StringLiteral kLabels = "accumulation/labels";

/// Lets the steps before an update's last one add up what divides their losses.
LogicalResult countBatches(ProgramOp program, RankedTensorType type) {
  States states(program);
  if (failed(states.ensure(kLabels.str(), type, Role::slot)))
    return failure();
  // Each rank may have a count of its own.
  states.find(kLabels).setDiffersAlongAttr(
      Builder(program.getContext()).getStrArrayAttr({kDataAxis}));
  for (GraphOp batch : graphsThat(kAccumulates, program)) {
    OpBuilder builder(batch.getBody().front().getTerminator());
    Arithmetic math(builder, batch.getLoc());
    FailureOr<Value> divisor = divisorOfLoss(builder, batch);
    if (failed(divisor))
      return failure();
    Value first = isFirstOfUpdate(builder, math.loc, program),
          old = readState(builder, math.loc, kLabels, type);
    old = math.select(first, math.number(0, old), old);
    writeState(builder, math.loc, kLabels, math.add(old, *divisor));
  }
  return success();
}

/// The sum over an update's micro-batches, on the rank.
FailureOr<Value> samplesOfRank(const Arithmetic &math, GraphOp train,
                               bool &areCounted) {
  auto program = cast<ProgramOp>(train->getParentOp());
  FailureOr<Value> divisor = divisorOfLoss(math.builder, train);
  int64_t batches = stepsPerUpdate(program);
  if (failed(divisor) || batches == 1)
    return divisor;
  if (divisor->getDefiningOp()->hasTrait<OpTrait::ConstantLike>())
    return math.scale(batches, *divisor);
  auto type = tensorType(*divisor);
  if (!areCounted && failed(countBatches(program, type)))
    return failure();
  areCounted = true;
  return math.add(readState(math.builder, math.loc, kLabels, type), *divisor);
}

/// The sum over the ranks whose mean gradient an update has: over all, or over
/// a group that combines with others what each has changed.
Value ofRanks(const Arithmetic &math, ProgramOp program, Value samples) {
  DistributionSettings settings = distributionOf(program);
  if (settings.mode == DistributionMode::none)
    return samples;
  if (!isByAdasum(settings, AdasumOf::weights))
    return sumOverRanks(math.builder, math.loc, samples);
  if (settings.adasum.within == 1)
    return samples;
  auto sum = AllReduceOp::create(math.builder, math.loc, samples);
  sum.setGroupsAttr(sumOfGroup(program.getContext(), settings));
  return sum.getResult(0);
}

} // namespace

FailureOr<Value> samplesOfUpdate(const Arithmetic &math, GraphOp train,
                                 bool &areCounted) {
  FailureOr<Value> samples = samplesOfRank(math, train, areCounted);
  if (failed(samples))
    return failure();
  return ofRanks(math, cast<ProgramOp>(train->getParentOp()), *samples);
}

} // namespace gradus
