// Libraries of the card's vendor, found and opened when a plan asks for them.
//
// Nothing links them. Looked for, in this order:
//   1. the file named by the library's variable in the environment;
//   2. its names beside libgradus_cuda (or the program it is linked into), and
//      in ../lib from there;
//   3. its names where the system finds libraries.
#pragma once

#include "runtime/status.h"

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

/// The first one that can be opened. Else says what is needed, where it was
/// looked for, and how a plan is made that needs none.
StatusOr<OpenLibrary> openLibrary(const VendorLibrary &wanted);

/// That a library is not what is needed, as it lacks a function or is too old.
Status refuse(const VendorLibrary &wanted, const OpenLibrary &found,
              const std::string &why);

} // namespace gradus::runtime::cuda
