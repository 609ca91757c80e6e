// Asks the dynamic linker, which has no name for the program itself.

#include "runtime/own_folder.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <sys/auxv.h>

namespace gradus::runtime {

namespace fs = std::filesystem;

std::string programFile(const char *link) {
  std::error_code error;
  fs::path file = fs::canonical(link, error);
  if (!error)
    return file.string();
  // One that is no whole path is of the folder in which the program began.
  auto started = reinterpret_cast<const char *>(getauxval(AT_EXECFN));
  if (!started || *started != '/')
    return "";
  file = fs::canonical(started, error);
  return error ? "" : file.string();
}

std::string ownFolder() {
  Dl_info info;
  void *found = nullptr;
  fs::path file;
  if (dladdr1(reinterpret_cast<void *>(&ownFolder), &info, &found,
              RTLD_DL_LINKMAP) &&
      found && *static_cast<link_map *>(found)->l_name)
    file = static_cast<link_map *>(found)->l_name;
  else
    file = programFile();
  std::error_code error;
  return fs::canonical(file, error).parent_path().string();
}

} // namespace gradus::runtime
