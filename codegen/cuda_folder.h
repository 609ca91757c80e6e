// The CUDA toolkit that compiles for GPUs: a folder with ptxas and libdevice.
// The standard library alone: `gradus doctor` tells of it without the compiler.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gradus {

struct CudaFolder {
  static constexpr const char *kVariable = "GRADUS_CUDA_TOOLKIT";

  std::string path;     // empty: there is none
  bool isNamed = false; // by the variable

  /// Why it does not serve; empty: it does.
  std::string problem() const {
    const std::string variable = kVariable;
    if (path.empty())
      return "this Gradus was built without one (GRADUS_CUDA=OFF), and " +
             variable + " names none";
    std::error_code error;
    for (const char *needed : {"/bin/ptxas", "/nvvm/libdevice/libdevice.10.bc"})
      if (!std::filesystem::exists(path + needed, error))
        return path + needed + " is not there" +
               (isNamed ? " (" + variable + " names the folder)"
                        : "; ./dev setup fetches it, and " + variable +
                              " may name another folder");
    return "";
  }
};

/// What the environment names, or else what this was built with; "": nothing.
inline CudaFolder cudaFolder(const char *builtWith) {
  const char *named = std::getenv(CudaFolder::kVariable);
  if (named && *named)
    return {named, true};
  return {builtWith, false};
}

} // namespace gradus
