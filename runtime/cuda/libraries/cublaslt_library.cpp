// Opens cuBLASLt, and explains its codes.

#include "runtime/cuda/libraries/cublaslt_library.h"

namespace gradus::runtime::cuda::cublaslt {

namespace {

/// Explains a code to users; null if the library's own words suffice.
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

} // namespace

const VendorLibrary &Library::wanted() {
  static const VendorLibrary library{
      "cuBLASLt",
      "cublaslt",
      "12.0",
      120000,
      "GRADUS_CUBLASLT_LIBRARY",
      {"libcublasLt.so.13", "libcublasLt.so.12"}};
  return library;
}

void Library::take(Symbols &symbols) {
#define GRADUS_CUBLASLT(name, symbol, gives, parameters)                       \
  symbols.take(name, #symbol);
#include "runtime/cuda/libraries/cublaslt.def"
}

StatusOr<Library> load() { return loadLibrary<Library>(); }

Status check(const Library &library, Code code, const std::string &what) {
  if (code == Code::success)
    return Status();
  const char *meaning = meaningOf(code);
  return failed(what, ": ", meaning ? meaning : library.codeWords(code), " (",
                library.codeName(code), " ", int(code), ")");
}

StatusOr<std::shared_ptr<Session>> openSession() {
  return startSession<Session>();
}

} // namespace gradus::runtime::cuda::cublaslt
