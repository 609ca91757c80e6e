// cuBLASLt as a table of functions, opened when a plan has a matmul for it, and
// a handle of the library.
#pragma once

#include "runtime/cuda/driver/driver_abi.h"
#include "runtime/cuda/libraries/cublaslt_abi.h"
#include "runtime/cuda/libraries/vendor_library.h"

namespace gradus::runtime::cuda::cublaslt {

struct Library {
#define GRADUS_CUBLASLT(name, symbol, gives, parameters)                       \
  gives(*name) parameters = nullptr;
#include "runtime/cuda/libraries/cublaslt.def"
  static const VendorLibrary &wanted();
  void take(Symbols &symbols);
};

/// Finds the library (vendor_library.h), and loads its functions.
StatusOr<Library> load();

/// Success, or "WHAT: words (CUBLAS_STATUS_NOT_SUPPORTED 15)".
Status check(const Library &library, Code code, const std::string &what);

using Session = VendorSession<Library, Handle>;
/// Creates a session for the current GPU.
StatusOr<std::shared_ptr<Session>> openSession();

} // namespace gradus::runtime::cuda::cublaslt
