// Options of `gradus compile` that gradus_compile_options has no field of: a
// program gives them as texts, by their names on the command line.

#pragma once

#include "frontends/compiler/compiler.h"

namespace gradus::compiler {

/// Applies texts such as "epilogues=bias" to a request whose other parts, such
/// as its weights, are complete.
absl::Status addExtraOptions(const std::vector<std::string> &texts,
                             Request &request);

} // namespace gradus::compiler
