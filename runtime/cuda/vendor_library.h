// Libraries of the card's vendor, found and opened when a plan asks for them.
//
// Nothing links them. Looked for, in this order:
//   1. the file named by the library's variable in the environment, and no
//      other then; a variable that is empty names none;
//   2. its names beside libgradus_cuda (or the program it is linked into), and
//      in ../lib from there;
//   3. its names where the system finds libraries.
#pragma once

#include "runtime/status.h"

#include <functional>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct VendorLibrary {
  const char *name;                // "cuBLASLt"
  const char *least;               // "12.0", of the version needed
  const char *variable;            // "GRADUS_CUBLASLT_LIBRARY"
  std::vector<const char *> files; // what it may be called, the newest first
};

/// A library that stays open as long as the process, and where it was found.
struct OpenLibrary {
  void *handle = nullptr;
  std::string file;
};

/// Where it is looked for, in this order; `folder` is ours, or empty where it
/// is not known.
std::vector<std::string> filesOf(const VendorLibrary &wanted,
                                 const std::string &folder);

/// Whether a library is what is needed, or what it lacks: "has no
/// cublasLtCreate", "is of version 110800".
using Serves = std::function<Status(const OpenLibrary &found)>;

/// The first one that can be opened and serves. Else says what is needed, why
/// none of those that were found serves or where they were looked for, and how
/// a plan is made that needs none.
StatusOr<OpenLibrary> openLibrary(const VendorLibrary &wanted,
                                  const Serves &serves);

} // namespace gradus::runtime::cuda
