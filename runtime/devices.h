// The devices that a user can name.

#pragma once

#include "runtime/device.h"

#include <utility>
#include <vector>

namespace gradus::runtime {

/// The device of a name: "cpu", "cuda" (its first card), "cuda:1", "emulated".
/// The error says which names there are, or why this one cannot be had here.
StatusOr<std::shared_ptr<Device>> openDevice(const std::string &name);

/// A card as its driver tells of it; none is opened for that.
struct CardFacts {
  std::string name, architecture; // "NVIDIA H200", "sm_90"
  uint64_t bytes = 0;             // of memory
};

/// What this machine has of what GPUs need; in words what is missing.
struct GpuFacts {
  std::string plugIn; // the file of libgradus_cuda.so
  std::string driver; // "CUDA 13.0"
  std::vector<CardFacts> cards;
  /// Of the vendor: "cudnn", "9.19.0, /usr/lib/libcudnn.so.9"
  std::vector<std::pair<std::string, std::string>> libraries;
};

/// Opens the plug-in for GPUs, and by it the driver and those libraries.
GpuFacts gpuFacts();

} // namespace gradus::runtime
