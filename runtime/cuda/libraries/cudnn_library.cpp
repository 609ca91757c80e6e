// Opens cuDNN, and explains its codes.

#include "runtime/cuda/libraries/cudnn_library.h"

namespace gradus::runtime::cuda::cudnn {

namespace {

/// Explains a code to users; null if the library's own words suffice.
const char *meaningOf(Code code) {
  switch (code) {
  case Code::notInitialized:
    return "it finds no GPU, or the driver is older than it needs";
  case Code::partsOfOtherVersions:
    return "the files of the library are of different versions";
  case Code::partNotLoaded:
  case Code::partMissing:
    return "not all files of the library can be loaded (libcudnn_*.so.9, "
           "beside libcudnn.so.9)";
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

} // namespace

const VendorLibrary &Library::wanted() {
  static const VendorLibrary library{
      "cuDNN",          "cudnn", "9.0", 90000, "GRADUS_CUDNN_LIBRARY",
      {"libcudnn.so.9"}};
  return library;
}

void Library::take(Symbols &symbols) {
#define GRADUS_CUDNN(name, symbol, gives, parameters)                          \
  symbols.take(name, #symbol);
#include "runtime/cuda/libraries/cudnn.def"
}

StatusOr<Library> load() { return loadLibrary<Library>(); }

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
