// The search order for libraries, the same for all that Gradus opens.

#include "runtime/library_places.h"

#include "runtime/own_folder.h"

#include <cstdlib>
#include <unistd.h>

namespace gradus::runtime {

std::vector<std::string> ownPlaces() {
  std::string folder = ownFolder();
  if (folder.empty()) // places must not begin at the root
    return {};
  return {folder, folder + "/../lib"};
}

std::vector<std::string> libraryPlaces(const char *variable,
                                       const std::vector<const char *> &names) {
  if (const char *chosen = getenv(variable); chosen && *chosen)
    return {chosen};
  std::vector<std::string> files;
  for (const std::string &place : ownPlaces())
    for (const char *name : names)
      files.push_back(place + "/" + name);
  files.insert(files.end(), names.begin(), names.end());
  return files;
}

std::string knownPlace(const char *variable,
                       const std::vector<const char *> &names) {
  for (const std::string &file : libraryPlaces(variable, names))
    if (file.find('/') != file.npos && access(file.c_str(), R_OK) == 0)
      return file;
  return "";
}

} // namespace gradus::runtime
