// Libraries of the card's vendor, found and opened when a plan asks for them.
//
// Nothing links them. They are looked for in the places of
// runtime/library_places.h.
#pragma once

#include "runtime/cuda/symbols.h"
#include "runtime/status.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct VendorLibrary {
  const char *name;                // "cuBLASLt"
  const char *key;                 // "cublaslt", in artifacts
  const char *least;               // "12.0", of the version needed
  size_t leastNumber;              // 120000, as the library says it
  const char *variable;            // "GRADUS_CUBLASLT_LIBRARY"
  std::vector<const char *> files; // what it may be called, the newest first
};

/// "9.19.0" for 91900, as these libraries say it; 8907 was cuDNN 8.9.7.
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

/// A library as a table of functions: `wanted()` says which library, `take`
/// fills the table, and `version` is one of them. Further it must start, where
/// it is asked to: the newest file may want a newer driver than there is.
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

/// A library and a handle of it for the card that was current, which is the
/// current one again when the session goes. Without a handle it describes and
/// runs nothing.
template <typename Table, typename TableHandle> struct VendorSession {
  using Library = Table;
  using Handle = TableHandle;

  Library library;
  Handle handle = nullptr;

  explicit VendorSession(const Library &library) : library(library) {}
  VendorSession(const VendorSession &) = delete;
  ~VendorSession() {
    // What a lost card says to this is known already.
    if (handle)
      library.destroy(handle);
  }

  /// "cublaslt 130100": what choices in artifacts are for.
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
