// Looks for the compiler where all libraries of ours are looked for.

#include "runtime/compiler_library.h"

#include "runtime/library_places.h"

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
  return knownPlace(compiler.variable, {compiler.name});
}

} // namespace gradus::runtime
