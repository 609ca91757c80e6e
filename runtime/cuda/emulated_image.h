// Kernels for the emulated card as one block of bytes, as a cubin holds those
// for a GPU: what `moduleLoad` of the emulated driver takes.
#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime::cuda {

struct EmulatedFunction {
  std::string name;
  uint64_t entry = 0;     // byte offset in the code, of runtime/emulated/abi.h
  uint64_t shared = 0;    // bytes of a block
  uint64_t threads = 0;   // of a block, at most
  uint64_t arguments = 0; // of 8 bytes each
};

struct EmulatedImage {
  std::vector<EmulatedFunction> functions;
  std::span<const uint8_t> code; // in the image
};

std::vector<uint8_t> packImage(std::span<const EmulatedFunction> functions,
                               std::span<const uint8_t> code);

/// Whether bytes begin as an image does.
bool isEmulatedImage(const void *image);
/// What an image holds; any change to its bytes is an error.
StatusOr<EmulatedImage> readImage(const void *image);

} // namespace gradus::runtime::cuda
