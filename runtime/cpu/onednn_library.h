// oneDNN, loaded when the first plan needs it.
//
// libgradus does not link it: small artifacts start without its 55 MB. Its
// calls to OpenMP are served by our pool (cpu/openmp.h).

#pragma once

#include "runtime/onednn_functions.h"
#include "runtime/status.h"

namespace gradus::runtime {

struct OneDnn : onednn::Functions {
  dnnl_engine_t engine;
  dnnl_stream_t stream; // executes in the calling thread, so it can be shared
};

/// Loads the library at the first call; later calls return the same result.
/// Also fails if the system does not let it write machine code.
StatusOr<const OneDnn *> oneDnn();

} // namespace gradus::runtime
