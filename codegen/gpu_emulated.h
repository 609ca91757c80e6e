// GPU kernels as code for a CPU: what gpu_emitter.h makes, lowered so that
// runtime/emulated/ can run it, thread by thread, and check each access.
#pragma once

#include "codegen/cpu_target.h"
#include "codegen/gpu_emitter.h"

namespace gradus {

struct EmulatedKernel {
  std::string name;
  uint64_t entry = 0;      // byte offset in the code of a `void k(Thread *)`
  int64_t sharedBytes = 0; // of a block
};

/// Code that refers to nothing outside of itself, as that of CPU kernels.
struct EmulatedCode {
  std::vector<char> code;
  std::vector<EmulatedKernel> kernels; // in the order of the functions
};

llvm::Expected<EmulatedCode> emulateGpu(const GpuCode &code,
                                        const CpuTarget &target);

} // namespace gradus
