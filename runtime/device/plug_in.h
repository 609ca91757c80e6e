// The interface of the plug-ins libgradus_cuda.so and libgradus_emulated.so to
// a runtime that opens them (runtime/session/devices.cpp).
#pragma once

#include "runtime/device/device.h"
#include "runtime/plug_in.h"

#include <utility>
#include <vector>

namespace gradus::runtime {

/// A GPU as its driver describes it, without opening it.
struct CardFacts {
  std::string name, architecture; // "NVIDIA H200", "sm_90"
  uint64_t bytes = 0;             // of memory
};

/// The GPU software and devices of this machine; an error text stands for what
/// is missing.
struct GpuFacts {
  std::string plugIn; // the file of libgradus_cuda.so
  std::string driver; // "CUDA 13.0"
  std::vector<CardFacts> cards;
  /// The vendor's libraries: "cudnn", "9.19.0, /usr/lib/libcudnn.so.9".
  std::vector<std::pair<std::string, std::string>> libraries;
};

/// Returns the device of a name, "cuda:0" or "emulated"; null with words in
/// `error`. `version` is the runtime's, which must be that of the plug-in,
/// since the two share classes.
using OpenDevice = Device *(const char *version, const char *name,
                            std::string *error);
constexpr const char *kOpenDevice = "gradus_open_device",
                     *kOpenEmulated = "gradus_open_emulated_device";

/// Adds the facts about this machine's GPUs to `facts`.
using TellGpuFacts = void(const char *version, GpuFacts *facts);
constexpr const char *kTellGpuFacts = "gradus_tell_gpu_facts";

} // namespace gradus::runtime
