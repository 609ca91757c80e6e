// The memory of a plan on a GPU.
#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/cuda/driver/driver_abi.h"

namespace gradus::runtime::cuda {

/// Rounds up to a multiple of 256, the alignment of allocations that share a
/// block, like that of the driver's own.
constexpr uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

struct StepMemory {
  DevicePointer state = 0, arena = 0, constants = 0;
  DevicePointer scratch = 0;           // shared by kernels
  DevicePointer tables = 0;            // of flat kernels
  DevicePointer libraryScratch = 0;    // shared by library commands
  DevicePointer ones = 0, product = 0; // of plain_product.h

  DevicePointer addressOf(const artifact::Buffer &buffer) const {
    DevicePointer starts[] = {state, arena, constants};
    return starts[size_t(buffer.region())] + buffer.offset();
  }
};

} // namespace gradus::runtime::cuda
