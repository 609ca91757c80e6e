// The tool opens the compiler as any program does.

#include "tool/compiler_library.h"

#include "runtime/compiler_library.h"
#include "tool/failure.h"

#include <filesystem>

namespace gradus::cli {

std::string compilerLibraryPath() {
  return std::filesystem::path(runtime::compilerFile())
      .lexically_normal()
      .string();
}

compiler::Compiler &compilerLibrary() {
  if (runtime::compilerFile().empty())
    throw badInput(
        "this installation has no compiler (libgradus_compiler.so); it can "
        "only run artifacts");
  auto library = take(runtime::openCompiler(compiler::kEntry));
  return *library.function<compiler::Entry>(compiler::kEntry)();
}

} // namespace gradus::cli
