// Checks `trainable` and `fixed` of a recipe against the states of a program
// that was read as text. The ONNX importer checks its models itself, because it
// knows constants that are not states.

#pragma once

#include "frontends/recipe/recipe.h"
#include "ir/gradus.h"

#include "absl/status/status.h"

namespace gradus::compiler {

/// Returns an error that names the first pattern without a parameter or buffer,
/// and the nearest names.
absl::Status checkParameterPatterns(ProgramOp program,
                                    const recipe::Recipe &recipe);

} // namespace gradus::compiler
