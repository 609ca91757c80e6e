// Refuses what does not go with weights that are each rank's own; see
// own_weights.h.

#include "passes/update/own_weights.h"

#include "passes/preconditioning.h"
#include "passes/train_graphs.h"
#include "passes/update/lookahead.h"

using namespace mlir;
using namespace gradus;

InFlightDiagnostic gradus::ownWeightsExclude(GraphOp train, StringRef reduce) {
  return recipe::keyError(train->getParentOfType<ProgramOp>(),
                          "distribution.reduce")
         << "\"" << reduce << "\" excludes ";
}

LogicalResult gradus::checkOwnWeights(GraphOp train, StringRef reduce) {
  auto program = train->getParentOfType<ProgramOp>();
  auto error = [&] { return ownWeightsExclude(train, reduce); };
  if (distributionOf(program).batchNorm == BatchNormRanks::synchronized)
    return error() << "distribution.batch_norm \"synchronized\", whose "
                      "statistics are of weights that all ranks share";
  if (lookahead().of(program))
    return error() << "lookahead, which pulls weights back to slow ones that "
                      "ranks do not share";
  if (preconditioning().of(program))
    return error() << "precondition, whose curvature is that of all ranks";
  for (auto schedule : program.getBody().getOps<ScheduleOp>())
    if (schedule.getGraph() == kTrain)
      return error() << "other variants of the step: accumulation, "
                        "gradient_freeze";
  return success();
}
