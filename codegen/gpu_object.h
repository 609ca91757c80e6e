// GPU kernels to cubins, on a machine without a GPU: LLVM writes PTX with what
// it needs of libdevice (gpu_ptx.h), ptxas assembles it.
#pragma once

#include "codegen/gpu_emitter.h"
#include "codegen/kernel_cache.h"

namespace gradus {

/// What is needed of a CUDA toolkit: bin/ptxas and nvvm/libdevice in a folder.
struct CudaToolkit {
  std::string folder;
  std::string version; // "release 13.5, V13.5.37"
};

/// Whether there is one (cuda_folder.h), or a link of the build to one.
bool hasCudaToolkit();
/// That one; in words what is missing of it.
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
  std::string said; // by ptxas, of each kernel

  std::vector<KernelUse> kernels() const; // as ptxas names them
};

/// PTX of each architecture, "sm_80", "sm_90" or "sm_100".
llvm::Expected<std::vector<Cubin>>
assemble(std::vector<std::string> ptx,
         llvm::ArrayRef<std::string> architectures, const CudaToolkit &toolkit);

/// All kernels for each architecture, in their order. What the cache has is not
/// compiled; where it cannot keep what is, that is a warning.
llvm::Expected<std::vector<Cubin>>
emitCubins(const GpuCode &code, llvm::ArrayRef<std::string> architectures,
           const CudaToolkit &toolkit, const KernelCache &cache);

/// The table that `ptxas --verbose` prints.
std::vector<KernelUse> parseUse(llvm::StringRef printed);

} // namespace gradus
