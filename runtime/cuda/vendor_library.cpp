// The order in which libraries are looked for, and what is said without one.

#include "runtime/cuda/vendor_library.h"

#include "runtime/own_folder.h"

#include <cstdlib>
#include <dlfcn.h>

namespace gradus::runtime::cuda {

static std::string needs(const VendorLibrary &wanted) {
  return inWords("this plan calls ", wanted.name, ", and needs version ",
                 wanted.least, " or later");
}

static std::string otherwise(const VendorLibrary &wanted) {
  return inWords(wanted.variable, " may name its file; a plan compiled with "
                                  "--libraries never needs none");
}

static std::vector<std::string> candidates(const VendorLibrary &wanted) {
  if (const char *chosen = getenv(wanted.variable))
    return {chosen};
  std::vector<std::string> files;
  std::string folder = ownFolder();
  for (const std::string &place :
       {folder + "/", folder + "/../lib/", std::string()})
    for (const char *file : wanted.files)
      files.push_back(place + file);
  return files;
}

StatusOr<OpenLibrary> openLibrary(const VendorLibrary &wanted) {
  std::string places;
  for (const std::string &file : candidates(wanted)) {
    if (void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return OpenLibrary{handle, file};
    append(places, places.empty() ? "" : "; ", dlerror());
  }
  return failed(needs(wanted), ", which cannot be loaded: ", places, " (",
                otherwise(wanted), ")");
}

Status refuse(const VendorLibrary &wanted, const OpenLibrary &found,
              const std::string &why) {
  return failed(needs(wanted), ", and ", found.file, " ", why, " (",
                otherwise(wanted), ")");
}

} // namespace gradus::runtime::cuda
