// The directions of `dim_reduce` become states of a program.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// Adds the file that the recipe names as fixed states, a tensor each. Whether
/// they are those of the parameters that are trained is seen by the pass. A
/// program that has such states keeps them with its own recipe; a file that
/// the request's recipe names comes in their place, and without `dim_reduce`
/// they are dropped.
/// Returns what is left to do, which may take long: the check of all values of
/// the file; nothing where no file was added.
absl::StatusOr<std::function<absl::Status()>> addBasis(ProgramOp program,
                                                       const Request &request);

} // namespace gradus::compiler
