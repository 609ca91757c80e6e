// `trainable` and `fixed` of a recipe against the states of a program that was
// read as text. The importer of ONNX looks at those of its models itself: it
// knows constants that are no states.

#pragma once

#include "frontends/recipe/recipe.h"
#include "ir/gradus.h"

#include "absl/status/status.h"

namespace gradus::compiler {

/// An error that names the first pattern without a parameter or buffer, and
/// the names that are nearest.
absl::Status checkParameterPatterns(ProgramOp program,
                                    const recipe::Recipe &recipe);

} // namespace gradus::compiler
