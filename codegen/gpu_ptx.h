// GPU kernels as LLVM code, and as PTX of an architecture. The code is cut into
// parts, so that several processors work on one architecture and all of them on
// several; the cut hangs on the kernels alone, and so does the PTX.
#pragma once

#include "codegen/gpu_emitter.h"

#include "llvm/Support/MemoryBuffer.h"

namespace gradus {

struct CudaToolkit;

/// LLVM bitcode of some kernels each. Threads may share it: nothing of MLIR is
/// left in it.
struct GpuBitcode {
  std::vector<std::string> parts;
};

llvm::Expected<GpuBitcode> lowerGpu(const GpuCode &code);

/// For "sm_80", "sm_90", "sm_100"; one text each, in their order.
llvm::Expected<std::vector<std::string>>
emitPtx(const GpuBitcode &code, llvm::ArrayRef<std::string> architectures,
        const CudaToolkit &toolkit);

/// What CUDA has of mathematics, as bitcode.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
libdevice(const CudaToolkit &toolkit);

/// What PTX depends on besides these: how it is optimised, and by whom.
std::string ptxWriter();

} // namespace gradus
