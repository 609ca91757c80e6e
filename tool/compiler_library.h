// libgradus_compiler.so, opened when a command first needs it: commands that
// only run artifacts never load LLVM.

#pragma once

#include "frontends/compiler/compiler.h"

#include <string>

namespace gradus::cli {

/// Its file; empty where it is not installed.
std::string compilerLibraryPath();

/// Opens it; a failure says what is missing.
compiler::Compiler &compilerLibrary();

} // namespace gradus::cli
