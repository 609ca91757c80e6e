// Compiles GPU kernels to cubins on a machine without a GPU: LLVM writes PTX
// with the functions of libdevice (gpu/ptx.h), ptxas assembles it.
#pragma once

#include "codegen/gpu/emitter.h"
#include "codegen/gpu/kernel_cache.h"

namespace gradus {

/// The parts of a CUDA toolkit that are needed: bin/ptxas and nvvm/libdevice in
/// a folder.
struct CudaToolkit {
  std::string folder;
  std::string version; // "release 13.5, V13.5.37"
};

/// Whether a toolkit was found (runtime/cuda_folder.h), or a link that the build made.
bool hasCudaToolkit();
/// The toolkit; the error says what is missing.
llvm::Expected<CudaToolkit> cudaToolkit();

/// The resources of a kernel as ptxas reports them.
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
  std::string said; // output of ptxas about each kernel

  std::vector<KernelUse> kernels() const; // as ptxas names them
};

/// Assembles PTX for each architecture, "sm_80", "sm_90" or "sm_100".
llvm::Expected<std::vector<Cubin>>
assemble(std::vector<std::string> ptx,
         llvm::ArrayRef<std::string> architectures, const CudaToolkit &toolkit);

/// Compiles all kernels for each architecture, in their order. Cubins in the
/// cache are not compiled again; if a new one cannot be stored, that is a
/// warning.
llvm::Expected<std::vector<Cubin>>
emitCubins(const GpuCode &code, llvm::ArrayRef<std::string> architectures,
           const CudaToolkit &toolkit, const KernelCache &cache);

/// Parses the table that `ptxas --verbose` prints.
std::vector<KernelUse> parseUse(llvm::StringRef printed);

} // namespace gradus
