// cuDNN as a table of functions, opened when a plan convolves or attends.
#pragma once

#include "runtime/cuda/cudnn_abi.h"
#include "runtime/cuda/driver_abi.h"
#include "runtime/status.h"

#include <functional>
#include <string>

namespace gradus::runtime::cuda::cudnn {

struct Library {
#define GRADUS_CUDNN(name, symbol, gives, parameters)                          \
  gives(*name) parameters = nullptr;
#include "runtime/cuda/cudnn.def"
};

/// Finds it (vendor_library.h), and takes the functions out of it.
StatusOr<Library> load();
/// One that starts, too: the newest file may want a newer driver than there is.
using Starts = std::function<Status(const Library &)>;
StatusOr<Library> load(const Starts &starts);

/// Success, or "WHAT: words (CUDNN_STATUS_NOT_SUPPORTED 3000)".
Status check(const Library &library, Code code, const std::string &what);

} // namespace gradus::runtime::cuda::cudnn
