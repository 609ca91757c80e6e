// An artifact's program, ready for the passes after the stage `model`.
#pragma once

#include "frontends/compiler/program.h"

namespace gradus::compiler {

/// Reads the request's `carried`. The recipe is the artifact's, and the states
/// start from its weights: options of the request that change either are
/// errors. Any bytes give a program or an error.
absl::StatusOr<Program> readCarriedProgram(const Request &request,
                                           mlir::MLIRContext &context);

} // namespace gradus::compiler
