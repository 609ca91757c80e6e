// From groups of nests on tensors to kernels over buffers and their launches.
#pragma once

#include "codegen/nest.h"
#include "codegen/passes.h"

#include "llvm/ADT/SetVector.h"

namespace gradus {

/// Nests that will be one kernel, in the order in which they run.
struct KernelGroup {
  plan::Split split = plan::Split::serial;
  llvm::SmallVector<plan::NestOp> nests;
};

/// The kernels of a program; equal ones are kept once.
class KernelTable {
public:
  explicit KernelTable(ProgramOp program);

  /// The kernel that says what `kernel`, not yet in the program, says. Takes
  /// it.
  plan::KernelOp add(plan::KernelOp kernel, llvm::StringRef label);

private:
  ProgramOp program_;
  llvm::SmallVector<plan::KernelOp> kernels_;
};

/// The tensor whose memory a value is: reshapes are other views of one.
mlir::Value viewedBy(mlir::Value value);

/// Whether a result is the new value of the state that an operand is read from.
bool isNewValueOf(mlir::Value result, mlir::Value operand);

/// Replaces the nests of a group, `serial` or `rows`, by a launch of a kernel.
plan::LaunchOp outline(const KernelGroup &group, KernelTable &kernels,
                       const FormKernelsOptions &options);

/// Whether all the nest touches are whole tensors in row-major order, and
/// numbers: then its code does not depend on the size.
bool isFlat(plan::NestOp nest);
/// The kernel of a flat nest.
plan::KernelOp flatKernel(plan::NestOp nest, KernelTable &kernels);
/// One launch of `kernel` with a segment for each nest.
plan::LaunchOp outlineFlat(plan::KernelOp kernel,
                           llvm::ArrayRef<plan::NestOp> nests,
                           const FormKernelsOptions &options);

/// Replaces a `plan.take` or `plan.add_at` by a launch of a kernel over the
/// slices that it writes.
plan::LaunchOp outlineIndexed(mlir::Operation *op, KernelTable &kernels,
                              const FormKernelsOptions &options);

} // namespace gradus
