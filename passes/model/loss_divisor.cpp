// Counts what a loss is divided by; see loss_divisor.h.

#include "passes/model/loss_divisor.h"

#include "ir/arithmetic.h"
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
  if (loss.settings.reduction == LossReduction::sum)
    return splat(builder, loc, scalar, 1);
  if (loss.labels() == Labels::classes)
    for (auto [i, input] : llvm::enumerate(train.getBody().getArguments()))
      if (train.getInputName(i) == loss.label) {
        Arithmetic math(builder, loc);
        Value count = countLabels(builder, loc, loss, input);
        return math.larger(count, math.number(1, count));
      }
  return splat(builder, loc, scalar,
               loss.isPerSample ? loss.outputType.getDimSize(0)
                                : samplesOf(train));
}

} // namespace gradus
