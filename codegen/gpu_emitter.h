// Kernels for a GPU: `plan.kernel` ops in, one `gpu.module` of functions out,
// which gpu_object.h makes cubins of and gpu_emulated.h code that a CPU runs.
// How work lies on blocks and threads: gpu_mapping.h and gpu_flat.h.
//
// A function's arguments are the kernel's buffers as lines of elements (i1 as
// i8) in memory space 1, then one for each scratch that does not fit into
// shared memory; those of flat kernels are as gpu_flat.h says. Any number of
// blocks gives the same bits. Launched again, a kernel reads nothing of before.
#pragma once

#include "codegen/gpu_model.h"
#include "codegen/plan.h"

#include "llvm/Support/Error.h"

namespace gradus {

/// How a kernel is launched.
struct GpuKernel {
  std::string name; // of the kernel and of its function
  int64_t threads = 0;
  /// Blocks that have something to do, or that there is scratch for; more are
  /// wrong. 0: flat, as many as there are pieces.
  int64_t mostBlocks = 0;
  int64_t piece = 0;                 // items of one, if flat
  std::vector<int64_t> scratchBytes; // of the arguments behind the buffers
  /// Instructions that all threads execute, about; of an item, if flat.
  uint64_t operations = 0;
};

struct GpuCode {
  mlir::OwningOpRef<mlir::ModuleOp> module; // holds one gpu.module
  std::vector<GpuKernel> kernels;           // in the order of the argument
};

/// The module lives in the context of the kernels.
llvm::Expected<GpuCode> emitGpu(llvm::ArrayRef<plan::KernelOp> kernels,
                                mlir::MLIRContext &context,
                                const GpuModel &gpu = {});

} // namespace gradus
