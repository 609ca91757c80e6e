// Compiles GPU kernels for a CPU: lowers the module of gpu/emitter.h to code
// that runtime/emulated/ runs thread by thread, checking each access.
#pragma once

#include "codegen/cpu/target.h"
#include "codegen/gpu/emitter.h"

namespace gradus {

struct EmulatedKernel {
  std::string name;
  uint64_t entry = 0;      // byte offset in the code of a `void k(Thread *)`
  int64_t sharedBytes = 0; // of a block
};

/// Code without external references, like that of CPU kernels.
struct EmulatedCode {
  std::vector<char> code;
  std::vector<EmulatedKernel> kernels; // in the order of the functions
};

llvm::Expected<EmulatedCode> emulateGpu(const GpuCode &code,
                                        const CpuTarget &target);

} // namespace gradus
