// A training step laid open: values of its nodes and gradients as outputs, and
// what the reference evaluator makes of them.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// `gradient.<parameter>` of each parameter that is updated.
void addGradientOutputs(GraphOp train);
/// The last value of each model node before the loss, by the node's place; in
/// f32, also where it is narrower.
void addNodeOutputs(GraphOp train);

/// One step in f64 from the program's initial state, against a compiled one;
/// inputs by name. Errors of ops are diagnostics of the context.
absl::StatusOr<std::vector<Comparison>>
compareStep(ProgramOp program, GraphOp train, const std::vector<Weight> &inputs,
            const std::vector<OutputValues> &compiled, bool explains);

} // namespace gradus::compiler
