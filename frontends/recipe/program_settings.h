// Settings over the recipe that a program in memory has, as `--set` and flags
// of keys are over a file's.

#pragma once

#include "frontends/recipe/recipe.h"

#include "ir/gradus.h"

namespace gradus::recipe {

/// Sets keys of a program's recipe, and checks all of it; errors are the
/// program's. Of keys that neither the recipe nor a setting names the default
/// holds, as it did before.
__attribute__((visibility("default"))) mlir::LogicalResult
applySettings(ProgramOp program, const Overrides &settings);

} // namespace gradus::recipe
