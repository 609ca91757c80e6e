// Opens the first one that serves, and says what is missing without one.

#include "runtime/cuda/vendor_library.h"

#include "runtime/library_places.h"

#include <dlfcn.h>

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

StatusOr<OpenLibrary> openLibrary(const VendorLibrary &wanted,
                                  const Serves &serves) {
  std::string missing, refused;
  auto add = [](std::string &list, const auto &...words) {
    append(list, list.empty() ? "" : "; ", words...);
  };
  for (const std::string &file : libraryPlaces(wanted.variable, wanted.files)) {
    OpenLibrary found{dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), file};
    if (!found.handle) {
      const char *words = dlerror();
      std::string why = words ? words : file;
      // What is there and does not load says more than what is not there. What
      // it lacks itself is missing under another name.
      bool isMissing =
          why.starts_with(file + ": cannot open shared object file");
      add(isMissing ? missing : refused, why);
      continue;
    }
    Status status = serves(found);
    if (status.ok())
      return found;
    add(refused, file, " ", status.message());
  }
  return failed(needs(wanted), ", ",
                refused.empty() ? "which cannot be loaded: " + missing
                                : "and " + refused,
                " (", otherwise(wanted), ")");
}

} // namespace gradus::runtime::cuda
