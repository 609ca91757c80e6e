// Random numbers of a rank's samples.
#pragma once

#include "passes/state.h"

namespace gradus {

/// Makes each op of a training graph that draws for samples, which lie along
/// its first axis, draw what one process with the samples of all ranks would
/// draw for them: places are counted on from those of the ranks before. What is
/// drawn for weights is drawn alike on every rank.
mlir::LogicalResult countDrawsByRank(ProgramOp program, GraphOp graph);

} // namespace gradus
