// Finds the library beside the tool: in ../lib, or in the tool's own folder.

#include "tool/compiler_library.h"

#include "runtime/shared_library.h"
#include "tool/failure.h"

#include <filesystem>

namespace gradus::cli {

std::string compilerLibraryPath() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *place : {"../lib", "."}) {
    fs::path path = folder / place / "libgradus_compiler.so";
    if (fs::exists(path, error))
      return path.lexically_normal();
  }
  return "";
}

compiler::Compiler &compilerLibrary() {
  std::string path = compilerLibraryPath();
  if (path.empty())
    throw badInput(
        "this installation has no compiler (libgradus_compiler.so); it can "
        "only run artifacts");
  auto library = runtime::SharedLibrary::open(
      path, runtime::SharedLibrary::Imports::whenCalled);
  if (!library.ok())
    throw failed("the compiler cannot be loaded: ", library.status().message());
  auto *entry = library->function<compiler::Entry>(compiler::kEntry);
  if (!entry)
    throw failed(path, ": is not the compiler of this version");
  return *entry();
}

} // namespace gradus::cli
