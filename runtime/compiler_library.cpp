// Looks for the compiler where all libraries of ours are looked for.

#include "runtime/compiler_library.h"

#include "runtime/library_places.h"

#include <unistd.h>

namespace gradus::runtime {

/// Its 10,000 imports are looked up when they are called.
static PlugIn compilerWith(const char *function) {
  return {"GRADUS_COMPILER_LIBRARY", "libgradus_compiler.so", function,
          SharedLibrary::Imports::whenCalled};
}

StatusOr<SharedLibrary> openCompiler(const char *function) {
  return loadPlugIn(compilerWith(function));
}

std::string compilerFile() {
  PlugIn compiler = compilerWith(nullptr);
  for (const std::string &file :
       libraryPlaces(compiler.variable, {compiler.name}))
    if (file.find('/') != file.npos && access(file.c_str(), R_OK) == 0)
      return file;
  return "";
}

} // namespace gradus::runtime
