// Counts what a loss is divided by; see loss_divisor.h.

#include "passes/model/loss_divisor.h"

#include "ir/arithmetic.h"
#include "passes/distribution.h"
#include "runtime/well_known.h"

namespace gradus {
using namespace mlir;

Value countLabels(OpBuilder &builder, Location loc, const Loss &loss,
                  Value label) {
  Value counted = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ne, label,
      splat(builder, loc, label.getType(), loss.settings.ignoreIndex));
  Value each = convert(builder, loc, counted, builder.getF32Type());
  return sum(builder, loc, each, allAxes(tensorType(label).getRank()));
}

/// The samples of a batch.
static int64_t samplesOf(GraphOp train) {
  for (Type type : train.getArgumentTypes())
    if (auto tensor = cast<RankedTensorType>(type); tensor.getRank() > 0)
      return tensor.getDimSize(0);
  return 1;
}

/// The labels that count, on the rank or in the mean of all; 1 if none does.
static Value countedLabels(const Arithmetic &math, ProgramOp program,
                           Value own) {
  DistributionSettings ranks = distributionOf(program);
  if (ranks.mode == DistributionMode::none || ranks.lossMean == LossMean::rank)
    return math.larger(own, math.number(1, own));
  Value count = readRanks(math.builder, math.loc, program);
  if (!count)
    return {};
  Value shared = meanOverRanks(math, own, count);
  return math.select(math.greater(shared, math.number(0, shared)), shared,
                     math.number(1, shared));
}

/// A rank's part of 1, which a sum is divided by.
static Value partOfOne(const Arithmetic &math, ProgramOp program,
                       RankedTensorType scalar) {
  Value one = splat(math.builder, math.loc, scalar, 1);
  if (!isDataParallel(program))
    return one;
  Value ranks = readRanks(math.builder, math.loc, program);
  return ranks ? math.divide(one, ranksLike(math, ranks, one)) : Value();
}

static FailureOr<Value> orFailure(Value value) {
  if (!value)
    return failure();
  return value;
}

FailureOr<Value> divisorOfLoss(OpBuilder &builder, GraphOp train) {
  auto program = cast<ProgramOp>(train->getParentOp());
  Location loc = train.getLoc();
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  GraphOp model = program.getGraph(well_known::kPredict);
  if (!model || !hasLoss(program))
    return splat(builder, loc, scalar, samplesOf(train));
  FailureOr<std::vector<Loss>> losses = readLosses(program, model);
  if (failed(losses))
    return failure();
  const Loss &loss = losses->front();
  Arithmetic math(builder, loc);
  if (loss.settings.reduction == LossReduction::sum)
    return orFailure(partOfOne(math, program, scalar));
  if (loss.labels() == Labels::classes)
    for (auto [i, input] : llvm::enumerate(train.getBody().getArguments()))
      if (train.getInputName(i) == loss.label)
        return orFailure(countedLabels(math, program,
                                       countLabels(builder, loc, loss, input)));
  return splat(builder, loc, scalar,
               loss.isPerSample ? loss.outputType.getDimSize(0)
                                : samplesOf(train));
}

} // namespace gradus
