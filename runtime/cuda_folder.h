// The CUDA toolkit that compiles for GPUs: a folder with ptxas and libdevice.
// The compiler uses it; `gradus doctor` and the compiler's identity, which work
// without the compiler, only look for it.
#pragma once

#include "runtime/library_places.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gradus {

struct CudaFolder {
  static constexpr const char *kVariable = "GRADUS_CUDA_TOOLKIT",
                              *kOurs = "cuda", // beside our libraries
                                  *kSystems = "/usr/local/cuda";

  static constexpr const char *kNeeded[] = {"/bin/ptxas",
                                            "/nvvm/libdevice/libdevice.10.bc"};

  std::string path;     // empty: none found
  bool isNamed = false; // by the variable

  /// The reason why it cannot be used; empty: it can.
  std::string problem() const {
    const std::string variable = kVariable;
    if (path.empty())
      return "found none; expected it in the folder that " + variable +
             " names, in " + kOurs + " beside Gradus's libraries, or in " +
             kSystems;
    std::error_code error;
    for (const char *needed : kNeeded)
      if (!std::filesystem::exists(path + needed, error))
        return path + needed + " is not there" +
               (isNamed ? " (" + variable + " names the folder)"
                        : "; ./dev setup fetches it, and " + variable +
                              " may name another folder");
    return "";
  }
};

/// The toolkit that GRADUS_CUDA_TOOLKIT names, else the one beside this code,
/// else the one in the default folder of NVIDIA's installer. A link is followed
/// to its folder; a broken one is returned as it is.
inline CudaFolder cudaFolder() {
  const char *named = std::getenv(CudaFolder::kVariable);
  if (named && *named)
    return {named, true};
  std::vector<std::string> folders = {CudaFolder::kSystems};
  for (const std::string &place : runtime::ownPlaces())
    folders.insert(folders.end() - 1, place + "/" + CudaFolder::kOurs);
  namespace fs = std::filesystem;
  std::error_code error;
  for (const std::string &folder : folders)
    if (fs::exists(fs::symlink_status(folder, error))) {
      std::string whole = fs::canonical(folder, error).string();
      return {error ? folder : whole, false};
    }
  return {};
}

} // namespace gradus
