// Opens the first library that works, and says what is missing otherwise.

#include "runtime/cuda/libraries/vendor_library.h"

namespace gradus::runtime::cuda {

static std::string needs(const VendorLibrary &wanted) {
  return inWords("plans that call ", wanted.name, " need version ",
                 wanted.least, " or later");
}

static std::string otherwise(const VendorLibrary &wanted) {
  return inWords(wanted.variable, " may name its file; a plan compiled with "
                                  "--libraries never needs none");
}

std::string versionText(size_t version) {
  size_t major = version < 10000 ? 1000 : 10000;
  return inWords(version / major, ".", version % major / 100, ".",
                 version % 100);
}

StatusOr<SharedLibrary> openLibrary(const VendorLibrary &wanted,
                                    const Serves &serves) {
  LibrarySearch search = findLibrary({wanted.variable, wanted.files}, serves);
  if (search.found)
    return *search.found;
  return failed(needs(wanted), ", ",
                search.refused.empty()
                    ? "which cannot be loaded: " + search.missing
                    : "and " + search.refused,
                " (", otherwise(wanted), ")");
}

} // namespace gradus::runtime::cuda
