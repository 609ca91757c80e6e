// Opening cuBLASLt, and what its codes mean.

#include "runtime/cuda/cublaslt_library.h"

#include "runtime/cuda/vendor_library.h"

#include <dlfcn.h>

namespace gradus::runtime::cuda::cublaslt {

namespace {

constexpr size_t kOldest = 120000;

const VendorLibrary &wanted() {
  static const VendorLibrary library{
      "cuBLASLt",
      "12.0",
      "GRADUS_CUBLASLT_LIBRARY",
      {"libcublasLt.so.13", "libcublasLt.so.12"}};
  return library;
}

/// What a code means to who runs a training; null where the library's words do.
const char *meaningOf(Code code) {
  switch (code) {
  case Code::notInitialized:
    return "it finds no GPU, or the driver is older than it needs";
  case Code::outOfMemory:
    return "the library found no memory for itself";
  case Code::archMismatch:
    return "the library has no code for this GPU's architecture";
  case Code::executionFailed:
    return "the product could not be begun on the GPU";
  default:
    return nullptr;
  }
}

StatusOr<Library> functionsOf(const OpenLibrary &found) {
  Library library;
#define GRADUS_CUBLASLT(name, symbol, gives, parameters)                       \
  library.name =                                                               \
      reinterpret_cast<decltype(library.name)>(dlsym(found.handle, #symbol));  \
  if (!library.name)                                                           \
    return failed("has no " #symbol);
#include "runtime/cuda/cublaslt.def"
  if (size_t version = library.version(); version < kOldest)
    return failed("is of version ", version);
  return library;
}

} // namespace

StatusOr<Library> load(const Starts &starts) {
  Library library;
  auto serves = [&](const OpenLibrary &found) -> Status {
    GRADUS_ASSIGN(library, functionsOf(found));
    return starts(library);
  };
  GRADUS_TRY(openLibrary(wanted(), serves).status());
  return library;
}

StatusOr<Library> load() {
  return load([](const Library &) { return Status(); });
}

Status check(const Library &library, Code code, const std::string &what) {
  if (code == Code::success)
    return Status();
  const char *meaning = meaningOf(code);
  return failed(what, ": ", meaning ? meaning : library.codeWords(code), " (",
                library.codeName(code), " ", int(code), ")");
}

Session::~Session() {
  // What a lost card says to this is known already.
  if (handle)
    library.destroy(handle);
}

std::string Session::name() const {
  return inWords("cublaslt ", library.version());
}

StatusOr<std::shared_ptr<Session>> openSession() {
  Handle handle = nullptr;
  GRADUS_ASSIGN(Library library, load([&](const Library &found) {
                  return check(found, found.create(&handle), "does not start");
                }));
  auto session = std::make_shared<Session>(library);
  session->handle = handle;
  return session;
}

} // namespace gradus::runtime::cuda::cublaslt
