// Checks that the recipe's `inputs.normalize` and `inputs.augment` fit the
// model's inputs, so that mistakes show at compile time and not only when
// training reads data.
#pragma once

#include "ir/gradus.h"

#include "absl/status/status.h"

#include <string>

namespace gradus::compiler {

/// Checks the recipe, as JSON with all defaults, against the graph @predict.
/// Training adds inputs of labels, of which only the names are known.
absl::Status checkInputPreparation(ProgramOp program,
                                   const std::string &recipe);

} // namespace gradus::compiler
