// Kernels for the emulated GPU as one block of bytes, like a cubin: the input
// of the emulated driver's `moduleLoad`.
#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct EmulatedFunction {
  std::string name;
  uint64_t entry = 0;     // offset in the code; see runtime/emulated/abi.h
  uint64_t shared = 0;    // bytes of a block
  uint64_t threads = 0;   // maximum of a block
  uint64_t arguments = 0; // of 8 bytes each
};

struct EmulatedImage {
  std::vector<EmulatedFunction> functions;
  std::span<const uint8_t> code; // in the image
};

std::vector<uint8_t> packImage(std::span<const EmulatedFunction> functions,
                               std::span<const uint8_t> code);

/// Whether bytes begin like an image.
bool isEmulatedImage(const void *image);
/// Reads an image; any change to its bytes is an error.
StatusOr<EmulatedImage> readImage(const void *image);

} // namespace gradus::runtime::cuda
