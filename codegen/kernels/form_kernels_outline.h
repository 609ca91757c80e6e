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
/// Whether a nest computes new values of states, or parts of such, and nothing
/// else.
bool isUpdate(plan::NestOp nest);
/// Returns a nest's label: the optimizer whose slots it writes, or what it
/// computes.
std::string updateLabel(plan::NestOp nest);

/// The number of a launch's operands that are views of each tensor's memory.
using Readings = llvm::DenseMap<mlir::Value, unsigned>;
/// The operand of a flat nest whose memory each result may reuse: each element
/// must be read before it is written, and by no other segment, since segments
/// run in parallel. The state whose new value the result is comes first.
llvm::SmallVector<int64_t> flatInplace(plan::NestOp nest,
                                       const Readings &readings);

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
