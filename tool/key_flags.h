// Flags of the recipe's keys, such as --less-bn and --clip, for the commands
// that read a recipe. The compiler says which there are.

#pragma once

#include "frontends/compiler/compiler.h"

#include <CLI/CLI.hpp>

namespace gradus::cli {

/// Adds the flags to the command as soon as it is chosen, those of plug-ins
/// that the command line names among them. Their values go to the request.
void addKeyFlags(CLI::App &command, compiler::Request &request);

} // namespace gradus::cli
