// Opens libraries by dlopen, which tells why it fails in words alone.

#include "runtime/shared_library.h"

#include "runtime/library_places.h"

#include <dlfcn.h>
#include <unistd.h>

namespace gradus::runtime {

StatusOr<SharedLibrary> SharedLibrary::open(const std::string &file,
                                            Imports imports) {
  if (file.empty()) // For dlopen that is the program itself.
    return failed("the name of the library is empty");
  int when = imports == Imports::now ? RTLD_NOW : RTLD_LAZY;
  if (void *handle = dlopen(file.c_str(), when | RTLD_LOCAL))
    return SharedLibrary(handle, file);
  const char *words = dlerror();
  return failed(words ? words : file.c_str());
}

void *SharedLibrary::address(const char *symbol) const {
  return handle_ ? dlsym(handle_, symbol) : nullptr;
}

void SharedLibrary::close() {
  if (handle_)
    dlclose(handle_);
  handle_ = nullptr;
}

/// Whether a file is there. Of a name that the loader looks up this is unknown,
/// and the answer is no.
static bool isThere(const std::string &file) {
  return file.find('/') != file.npos && access(file.c_str(), F_OK) == 0;
}

LibrarySearch
findLibrary(const WantedLibrary &wanted,
            const std::function<Status(const SharedLibrary &)> &serves) {
  LibrarySearch search;
  auto note = [](std::string &reasons, const std::string &reason) {
    append(reasons, reasons.empty() ? "" : "; ", reason);
  };
  for (const std::string &file : libraryPlaces(wanted.variable, wanted.names)) {
    auto library = SharedLibrary::open(file, wanted.imports);
    if (!library.ok()) {
      note(isThere(file) ? search.refused : search.missing,
           library.status().message());
      continue;
    }
    Status status = serves ? serves(*library) : Status();
    if (status.ok()) {
      search.found = *library;
      return search;
    }
    note(search.refused, inWords(file, " ", status.message()));
  }
  return search;
}

} // namespace gradus::runtime
