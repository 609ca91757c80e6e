// Runs a kernel of the emulated card, and holds it to what it said it would
// touch and to what was written before.
#pragma once

#include "runtime/cuda/fake_memory.h"
#include "runtime/emulated/launch.h"

namespace gradus::runtime::cuda {

struct FakeLaunch {
  emulated::Launch launch;
  /// What it may touch; without `declared`, all that is allocated on the card.
  std::vector<Access> accesses;
  bool declared = false;
};

/// Adds to `operations` what its threads have executed (emulated/abi.h).
Status runKernel(const FakeLaunch &kernel, FakeMemory &memory,
                 int64_t &operations);

} // namespace gradus::runtime::cuda
