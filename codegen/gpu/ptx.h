// Compiles GPU kernels to LLVM bitcode and to PTX of an architecture. The code
// is split into parts, so that all processors can work on one or several
// architectures; the split depends only on the kernels, and so does the PTX.
#pragma once

#include "codegen/gpu/emitter.h"

#include "llvm/Support/MemoryBuffer.h"

namespace gradus {

struct CudaToolkit;

/// LLVM bitcode, each part with some of the kernels. It has no references to
/// MLIR, so threads may share it.
struct GpuBitcode {
  std::vector<std::string> parts;
};

llvm::Expected<GpuBitcode> lowerGpu(const GpuCode &code);

/// The PTX of each architecture, "sm_80", "sm_90" or "sm_100", in their order.
llvm::Expected<std::vector<std::string>>
emitPtx(const GpuBitcode &code, llvm::ArrayRef<std::string> architectures,
        const CudaToolkit &toolkit);

/// Loads CUDA's library of mathematical functions, which is bitcode.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
libdevice(const CudaToolkit &toolkit);

/// The version of the PTX writer: what else its output depends on, such as
/// optimisation flags.
std::string ptxWriter();

} // namespace gradus
