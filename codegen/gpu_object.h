// GPU kernels to PTX and cubins for an architecture, on a machine without a
// GPU: LLVM writes PTX with what it needs of libdevice, ptxas assembles it.
#pragma once

#include "codegen/gpu_emitter.h"

namespace gradus {

/// What is needed of a CUDA toolkit: bin/ptxas and nvvm/libdevice in a folder.
struct CudaToolkit {
  std::string folder;
  std::string version; // "release 13.5, V13.5.37"
};

/// The toolkit in a folder; in words what is missing there.
llvm::Expected<CudaToolkit> cudaToolkit(llvm::StringRef folder);
/// Whether this was built with one (GRADUS_CUDA).
bool hasCudaToolkit();
/// The one this was built with.
llvm::Expected<CudaToolkit> cudaToolkit();

/// What ptxas says of a kernel.
struct KernelUse {
  std::string name;
  int64_t registers = 0;          // of a thread
  int64_t stack = 0, spilled = 0; // bytes; spilled: stores and loads
  int64_t shared = 0;             // bytes of a block
};

struct Cubin {
  std::string architecture; // "sm_90"
  std::string ptx;
  std::vector<char> code;
  std::vector<KernelUse> kernels; // as ptxas names them
};

/// For "sm_80", "sm_90", "sm_100".
llvm::Expected<std::string> emitPtx(const GpuCode &code,
                                    llvm::StringRef architecture,
                                    const CudaToolkit &toolkit);
llvm::Expected<Cubin> assemble(std::string ptx, llvm::StringRef architecture,
                               const CudaToolkit &toolkit);

/// The table that `ptxas --verbose` prints.
std::vector<KernelUse> parseUse(llvm::StringRef printed);

} // namespace gradus
