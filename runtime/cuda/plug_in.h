// The interface of libgradus_cuda.so to a runtime that opens it
// (runtime/session/devices.cpp).
#pragma once

#include "runtime/session/devices.h"

namespace gradus::runtime {

/// Returns the device of a name, "cuda:0" or "emulated"; null with words in
/// `error`. `version` is the runtime's, which must be that of the plug-in,
/// since the two share classes.
using OpenDevice = Device *(const char *version, const char *name,
                            std::string *error);
constexpr const char *kOpenDevice = "gradus_open_device";

/// Adds the facts about this machine's GPUs to `facts`.
using TellGpuFacts = void(const char *version, GpuFacts *facts);
constexpr const char *kTellGpuFacts = "gradus_tell_gpu_facts";

} // namespace gradus::runtime
