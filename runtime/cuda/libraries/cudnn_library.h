// cuDNN as a table of functions, opened when a plan has convolutions or
// attention.
#pragma once

#include "runtime/cuda/driver/driver_abi.h"
#include "runtime/cuda/libraries/cudnn_abi.h"
#include "runtime/cuda/libraries/vendor_library.h"

namespace gradus::runtime::cuda::cudnn {

struct Library {
#define GRADUS_CUDNN(name, symbol, gives, parameters)                          \
  gives(*name) parameters = nullptr;
#include "runtime/cuda/libraries/cudnn.def"
  static const VendorLibrary &wanted();
  void take(Symbols &symbols);
};

/// Finds the library (vendor_library.h), and loads its functions.
StatusOr<Library> load();

/// Success, or "WHAT: words (CUDNN_STATUS_NOT_SUPPORTED 3000)".
Status check(const Library &library, Code code, const std::string &what);

} // namespace gradus::runtime::cuda::cudnn
