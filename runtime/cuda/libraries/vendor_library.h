// Finds and opens libraries of the GPU's vendor when a plan needs them.
//
// They are not linked, but searched in the folders of runtime/library_places.h.
#pragma once

#include "runtime/cuda/driver/symbols.h"
#include "runtime/status.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct VendorLibrary {
  const char *name;                // "cuBLASLt"
  const char *key;                 // "cublaslt", in artifacts
  const char *least;               // minimum version: "12.0"
  size_t leastNumber;              // as the library reports it: 120000
  const char *variable;            // "GRADUS_CUBLASLT_LIBRARY"
  std::vector<const char *> files; // possible names, the newest first
};

/// Formats a version number of these libraries: 91900 as "9.19.0"; 8907 was
/// cuDNN 8.9.7.
std::string versionText(size_t version);

/// Whether a library is what is needed, or what it lacks: "has no
/// cublasLtCreate", "is of version 11.8.0".
using Serves = std::function<Status(const SharedLibrary &found)>;

/// Finds the first one that can be opened and serves. Else says what is needed,
/// why none of those that were found serves or where they were looked for, and
/// how a plan is made that needs none.
StatusOr<SharedLibrary> openLibrary(const VendorLibrary &wanted,
                                    const Serves &serves);

//===-- as tables ---------------------------------------------------------===//

/// Loads a library as a table of functions: `wanted()` names the library,
/// `take` fills the table, and `version` is one of its functions. `starts` also
/// tries to start it: the newest file may need a newer driver.
template <typename Library>
StatusOr<Library>
loadLibrary(const std::function<Status(const Library &)> &starts = {}) {
  Library library;
  auto serves = [&](const SharedLibrary &found) -> Status {
    Symbols symbols(found);
    library.take(symbols);
    if (symbols.missing())
      return failed("has no ", symbols.missing());
    if (size_t version = library.version();
        version < Library::wanted().leastNumber)
      return failed("is of version ", versionText(version));
    return starts ? starts(library) : Status();
  };
  GRADUS_TRY(openLibrary(Library::wanted(), serves).status());
  return library;
}

/// A library with a handle for the GPU that was current, which must be current
/// again when the session ends. Without a handle it can only describe.
template <typename Table, typename TableHandle> struct VendorSession {
  using Library = Table;
  using Handle = TableHandle;

  Library library;
  Handle handle = nullptr;

  explicit VendorSession(const Library &library) : library(library) {}
  VendorSession(const VendorSession &) = delete;
  ~VendorSession() {
    // A failure on a lost GPU was reported before.
    if (handle)
      library.destroy(handle);
  }

  /// The library and version that choices in artifacts name: "cublaslt 130100".
  std::string name() const {
    return inWords(Library::wanted().key, " ", library.version());
  }
};

template <typename Session> StatusOr<std::shared_ptr<Session>> startSession() {
  using Library = typename Session::Library;
  typename Session::Handle handle = nullptr;
  GRADUS_ASSIGN(Library library,
                loadLibrary<Library>([&](const Library &found) {
                  return check(found, found.create(&handle), "does not start");
                }));
  auto session = std::make_shared<Session>(library);
  session->handle = handle;
  return session;
}

} // namespace gradus::runtime::cuda
