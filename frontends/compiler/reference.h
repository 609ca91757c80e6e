// A training step laid open: values of its nodes and gradients as outputs, and
// what the reference evaluator makes of them.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// `gradient.<parameter>` of each parameter that is updated.
void addGradientOutputs(GraphOp train);
/// The last value of each model node before the loss, by the node's place.
void addNodeOutputs(GraphOp train);

/// One step in f64 from the program's initial state; inputs by name. Errors of
/// ops are diagnostics of the context. Rounded: every value to f32.
absl::StatusOr<std::vector<Reference>>
evaluateStep(ProgramOp program, GraphOp train,
             const std::vector<Weight> &inputs, bool rounded);

} // namespace gradus::compiler
