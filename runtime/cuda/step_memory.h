// Where a plan lies on a card.
#pragma once

#include "runtime/artifact.h"
#include "runtime/cuda/driver_abi.h"

namespace gradus::runtime::cuda {

/// Room for so many bytes, where several things lie in one block: each begins
/// at a multiple of 256, as the driver's own allocations do.
constexpr uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

struct StepMemory {
  DevicePointer state = 0, arena = 0, constants = 0;
  DevicePointer scratch = 0;           // of kernels, which share it
  DevicePointer tables = 0;            // of flat kernels
  DevicePointer libraryScratch = 0;    // of library commands, which share it
  DevicePointer ones = 0, product = 0; // of plain_product.h

  DevicePointer addressOf(const artifact::Buffer &buffer) const {
    DevicePointer starts[] = {state, arena, constants};
    return starts[size_t(buffer.region())] + buffer.offset();
  }
};

} // namespace gradus::runtime::cuda
