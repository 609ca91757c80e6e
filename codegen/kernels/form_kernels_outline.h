// Turns groups of nests on tensors into kernels over buffers and their
// launches.
#pragma once

#include "codegen/plan/nest.h"
#include "codegen/plan/passes.h"

#include "llvm/ADT/SetVector.h"

namespace gradus {

/// Nests that will be one kernel, in the order of execution.
struct KernelGroup {
  plan::Split split = plan::Split::serial;
  llvm::SmallVector<plan::NestOp> nests;
};

/// The kernels of a program, without duplicates.
class KernelTable {
public:
  explicit KernelTable(ProgramOp program);

  /// Returns the kernel that equals `kernel`, which is not in the program yet.
  /// Takes ownership of `kernel`.
  plan::KernelOp add(plan::KernelOp kernel, llvm::StringRef label);

private:
  ProgramOp program_;
  llvm::SmallVector<plan::KernelOp> kernels_;
};

/// The tensor whose memory holds a value; reshapes and parts share the memory
/// of their input.
mlir::Value viewedBy(mlir::Value value);

/// Whether a value is a rank's part of a state, whose memory only a new value
/// of the state may take over.
bool isPartOfState(mlir::Value value);

/// Whether a result is the new value of the state from which an operand is
/// read.
bool isNewValueOf(mlir::Value result, mlir::Value operand);

/// Replaces the nests of a group, split `serial` or `rows`, by a launch of a
/// kernel.
plan::LaunchOp outline(const KernelGroup &group, KernelTable &kernels,
                       const FormKernelsOptions &options);

/// Whether the nest accesses only whole tensors in row-major order, and
/// scalars: then its code does not depend on the size.
bool isFlat(plan::NestOp nest);
/// Returns the kernel of a flat nest.
plan::KernelOp flatKernel(plan::NestOp nest, KernelTable &kernels);
/// Replaces the nests by one launch of `kernel` with a segment for each.
plan::LaunchOp outlineFlat(plan::KernelOp kernel,
                           llvm::ArrayRef<plan::NestOp> nests,
                           const FormKernelsOptions &options);

/// Replaces a `plan.take` or `plan.add_at` by a launch of a kernel over the
/// slices that it writes.
plan::LaunchOp outlineIndexed(mlir::Operation *op, KernelTable &kernels,
                              const FormKernelsOptions &options);

} // namespace gradus
