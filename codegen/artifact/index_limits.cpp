// Traces the indices of each gather back to an input.

#include "codegen/artifact/index_limits.h"

using namespace mlir;
using namespace gradus;

/// The value from which `value` is only moved: with the same elements, all of
/// them and no others.
static Value sameElements(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<KeepsAllElements>() && !isa<arith::ExtSIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

IndexLimits gradus::indexLimits(ProgramOp program) {
  IndexLimits limits;
  program.walk([&](GatherOp gather) {
    auto input = dyn_cast<BlockArgument>(sameElements(gather.getIndices()));
    auto graph =
        input ? dyn_cast<GraphOp>(input.getOwner()->getParentOp()) : GraphOp();
    if (!graph)
      return;
    auto name = cast<StringAttr>(graph.getInputNames()[input.getArgNumber()]);
    int64_t limit = cast<RankedTensorType>(gather.getInput().getType())
                        .getDimSize(gather.getAxis());
    auto [place, isNew] = limits.try_emplace(name.getValue(), limit);
    place->second = std::min(place->second, limit);
  });
  return limits;
}
