// Runs a kernel of the emulated GPU, and checks it against its declared
// accesses and the memory that was written before.
#pragma once

#include "runtime/emulated/fake_memory.h"
#include "runtime/emulated/launch.h"

namespace gradus::runtime::cuda {

struct FakeLaunch {
  emulated::Launch launch;
  /// The allowed accesses; without `declared`, all allocations of the GPU.
  std::vector<Access> accesses;
  bool declared = false;
};

/// Runs a kernel; adds the operations that its threads executed to `operations`
/// (emulated/abi.h).
Status runKernel(const FakeLaunch &kernel, FakeMemory &memory,
                 int64_t &operations);

} // namespace gradus::runtime::cuda
