// libgradus_compiler.so, opened when somebody first compiles: what only runs
// artifacts never loads LLVM.

#pragma once

#include "runtime/plug_in.h"

#include <string>

namespace gradus::runtime {

/// Opens the compiler, which exports `function`. It stays open.
StatusOr<SharedLibrary> openCompiler(const char *function);

/// The compiler's file, as far as that is known without opening it: the one
/// that the environment names, or one beside this code; empty if there is none.
std::string compilerFile();

} // namespace gradus::runtime
