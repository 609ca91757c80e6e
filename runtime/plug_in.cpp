// Opens our own libraries.

#include "runtime/plug_in.h"

namespace gradus::runtime {

StatusOr<SharedLibrary> loadPlugIn(const PlugIn &plugIn) {
  LibrarySearch search =
      findLibrary({plugIn.variable, {plugIn.name}, plugIn.imports});
  if (!search.found)
    return failed("needs ", plugIn.name,
                  ", which cannot be loaded: ", search.reasons(), " (",
                  plugIn.variable, " may name it)");
  if (!search.found->function<void()>(plugIn.function))
    return failed(search.found->file(), " is no ", plugIn.name, " of Gradus");
  return *std::move(search.found);
}

} // namespace gradus::runtime
