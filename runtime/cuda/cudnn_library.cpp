// Opening cuDNN, and what its codes mean.

#include "runtime/cuda/cudnn_library.h"

#include "runtime/cuda/vendor_library.h"

#include <dlfcn.h>

namespace gradus::runtime::cuda::cudnn {

namespace {

constexpr size_t kOldest = 90000;

const VendorLibrary &wanted() {
  static const VendorLibrary library{
      "cuDNN", "9.0", "GRADUS_CUDNN_LIBRARY", {"libcudnn.so.9"}};
  return library;
}

/// What a code means to who runs a training; null where the library's words do.
const char *meaningOf(Code code) {
  switch (code) {
  case Code::notInitialized:
    return "it finds no GPU, or the driver is older than it needs";
  case Code::partsOfOtherVersions:
    return "the files of the library are of different versions";
  case Code::partNotLoaded:
  case Code::partMissing:
    return "not all files of the library can be loaded (libcudnn_*.so.9, "
           "beside "
           "libcudnn.so.9)";
  case Code::driverTooOld:
    return "the driver is older than the library needs";
  case Code::archMismatch:
    return "the library has no code for this GPU's architecture";
  case Code::prerequisiteMissing:
    return "the library compiles this call when it is loaded, and found no "
           "libnvrtc to do so";
  case Code::hostOutOfMemory:
  case Code::deviceOutOfMemory:
    return "the library found no memory for itself";
  default:
    return nullptr;
  }
}

std::string lastWordsOf(const Library &library) {
  char words[1024] = "";
  library.lastWords(words, sizeof(words));
  std::string text = words;
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

StatusOr<Library> functionsOf(const OpenLibrary &found) {
  Library library;
#define GRADUS_CUDNN(name, symbol, gives, parameters)                          \
  library.name =                                                               \
      reinterpret_cast<decltype(library.name)>(dlsym(found.handle, #symbol));  \
  if (!library.name)                                                           \
    return failed("has no " #symbol);
#include "runtime/cuda/cudnn.def"
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
  std::string words = lastWordsOf(library);
  if (const char *meaning = meaningOf(code))
    words = words.empty() ? meaning : inWords(meaning, ": ", words);
  return failed(what, ": ", words, words.empty() ? "(" : " (",
                library.codeName(code), " ", int(code), ")");
}

} // namespace gradus::runtime::cuda::cudnn
