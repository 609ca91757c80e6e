// Compiles `plan.kernel` ops to machine code for a CPU: a flat blob of
// position-independent code, with the byte offset of each kernel's entry.
//
// Entries are `void k(void **buffers, int64_t begin, int64_t end)`; buffers are
// 64-byte aligned, contiguous, row-major, i1 elements one byte each. The blob
// refers to nothing outside itself: map it read+execute anywhere and call.
#pragma once

#include "codegen/cpu/target.h"
#include "codegen/plan/plan.h"

#include "llvm/Support/Error.h"

namespace gradus {

struct EmittedKernel {
  std::string name;
  uint64_t entry = 0; // byte offset in the code
};

struct CpuCode {
  std::vector<char> code;
  std::vector<EmittedKernel> kernels; // in the order of the argument
};

/// The same kernels and target give the same bytes. Equal kernels should be
/// deduplicated by the caller; equal nests are mostly emitted once.
llvm::Expected<CpuCode> emitCpu(llvm::ArrayRef<plan::KernelOp> kernels,
                                const CpuTarget &target);

} // namespace gradus
