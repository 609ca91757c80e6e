// Whether the recipe's `inputs.normalize` and `inputs.augment` fit the model's
// inputs: said when compiling, not first when training reads data.
#pragma once

#include "ir/gradus.h"

#include "absl/status/status.h"

#include <string>

namespace gradus::compiler {

/// Checks the recipe, as JSON with all defaults, against the graph @predict.
/// Of an input of labels, which training adds, only the name is known.
absl::Status checkInputPreparation(ProgramOp program,
                                   const std::string &recipe);

} // namespace gradus::compiler
