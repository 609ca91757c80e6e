// Exposes values of a training step (nodes, gradients) as outputs and compares
// them with the reference evaluator.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// Adds the output `gradient.<parameter>` for each updated parameter.
void addGradientOutputs(GraphOp train);
/// Adds the last value of each model node before the loss as an output, named
/// by the node's location; narrower types are widened to f32.
void addNodeOutputs(GraphOp train);

/// Evaluates one step in f64 from the program's initial state and compares it
/// with a compiled one; inputs are found by name. Errors of ops are diagnostics
/// of the context.
absl::StatusOr<std::vector<Comparison>>
compareStep(ProgramOp program, GraphOp train, const std::vector<Weight> &inputs,
            const std::vector<OutputValues> &compiled, bool explains);

} // namespace gradus::compiler
