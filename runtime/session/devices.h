// The devices that a user can name.

#pragma once

#include "runtime/device/device.h"

#include <utility>
#include <vector>

namespace gradus::runtime {

/// Opens a device: "cpu", "cuda" (its first GPU), "cuda:1", "emulated". The
/// error lists the names, or says why this device is not available.
StatusOr<std::shared_ptr<Device>> openDevice(const std::string &name);

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

/// Opens the plug-in for GPUs, and through it the driver and those libraries.
GpuFacts gpuFacts();

} // namespace gradus::runtime
