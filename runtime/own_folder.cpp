// Asks the dynamic linker, which has no name for the program itself.

#include "runtime/own_folder.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace gradus::runtime {

std::string ownFolder() {
  namespace fs = std::filesystem;
  Dl_info info;
  void *found = nullptr;
  fs::path file = "/proc/self/exe";
  if (dladdr1(reinterpret_cast<void *>(&ownFolder), &info, &found,
              RTLD_DL_LINKMAP) &&
      found && *static_cast<link_map *>(found)->l_name)
    file = static_cast<link_map *>(found)->l_name;
  std::error_code error;
  return fs::canonical(file, error).parent_path().string();
}

} // namespace gradus::runtime
