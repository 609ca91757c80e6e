// The kernels of a plan for GPUs as images of the same functions: cubins for
// some architectures, PTX for later ones, and code for the emulated GPU.
#pragma once

#include "codegen/gpu/emitter.h"
#include "codegen/gpu/object.h"

namespace gradus {

/// The images that a target consists of.
struct GpuTarget {
  std::vector<std::string> architectures; // "sm_90": a cubin each
  bool ptx = false;                       // for the last architecture
  bool emulated = false;                  // run by this machine's CPU
};

/// "cuda" (all architectures and PTX), "cuda:sm_80|sm_90|sm_100" or "emulated".
llvm::Expected<GpuTarget> gpuTarget(llvm::StringRef name);
/// Adds the images of another target.
void join(GpuTarget &target, const GpuTarget &other);

struct GpuImage {
  enum Kind { cubin, ptx, emulated } kind = cubin;
  std::string architecture;
  std::vector<std::string> features; // of the CPU, if emulated
  std::vector<char> code;
  std::vector<KernelUse> kernels; // in the plan's order
  std::vector<uint64_t> entries;  // of the kernels, if emulated
};

struct GpuImages {
  std::vector<GpuKernel> kernels;
  std::vector<GpuImage> images;
};

llvm::Expected<GpuImages> emitGpuImages(llvm::ArrayRef<plan::KernelOp> kernels,
                                        const GpuTarget &target,
                                        const GpuModel &gpu,
                                        const KernelCache &cache,
                                        mlir::MLIRContext &context);

} // namespace gradus
