// Compiles `plan.kernel` ops for a GPU to functions in one `gpu.module`, which
// gpu/object.h compiles to cubins and gpu/emulated.h to code for a CPU. For the
// mapping to blocks and threads see gpu/mapping.h and gpu/flat.h.
//
// The arguments of a function are the kernel's buffers as 1-D memrefs (i1 as
// i8) in memory space 1, then one for each scratch buffer that does not fit
// into shared memory; for flat kernels see gpu/flat.h. Any number of blocks
// gives the same bits. A launch does not depend on earlier ones.
#pragma once

#include "codegen/gpu/model.h"
#include "codegen/plan/plan.h"

#include "llvm/Support/Error.h"

namespace gradus {

/// The launch of a kernel.
struct GpuKernel {
  std::string name; // of the kernel and of its function
  int64_t threads = 0;
  /// The number of blocks that have work, or scratch; more are an error. 0: a
  /// flat kernel, with as many as it has pieces.
  int64_t mostBlocks = 0;
  int64_t piece = 0;                 // items of a piece, if flat
  std::vector<int64_t> scratchBytes; // of the arguments after the buffers
  /// An estimate of the instructions that all threads execute, or of those for
  /// one item of a flat kernel.
  uint64_t operations = 0;
};

struct GpuCode {
  mlir::OwningOpRef<mlir::ModuleOp> module; // holds one gpu.module
  std::vector<GpuKernel> kernels;           // in the order of the argument
};

/// Emits the kernels. The module is in `context`, which is also theirs.
llvm::Expected<GpuCode> emitGpu(llvm::ArrayRef<plan::KernelOp> kernels,
                                mlir::MLIRContext &context,
                                const GpuModel &gpu = {});

} // namespace gradus
