// Emits the ops of a nest's regions as LLVM instructions on scalars or vectors.
#pragma once

#include "codegen/cpu/builder.h"

#include "codegen/plan/plan.h"

#include "mlir/IR/Region.h"

#include <string>

namespace gradus {

/// The types of an element in memory and in registers. i1 occupies a byte in
/// memory; bf16 and f16 are 16-bit integers until an op widens them.
llvm::Type *memoryType(CpuBuilder &builder, mlir::Type type);
llvm::Type *registerType(CpuBuilder &builder, mlir::Type type);

/// Conversions of bf16 and f16 between their 16 bits and f32.
bool isNarrowFloat(mlir::Type type);
llvm::Value *widen(CpuBuilder &builder, llvm::Value *bits, mlir::Type type);
llvm::Value *narrow(CpuBuilder &builder, llvm::Value *x, mlir::Type type);

/// A maximum or minimum of floats that may return either sign of zero.
llvm::Value *extremum(CpuBuilder &builder, llvm::Intrinsic::ID id,
                      llvm::Value *x, llvm::Value *y);

/// Emits the ops of a region's block for values with any number of lanes; ops
/// on scalars alone stay scalar.
class RegionEmitter {
public:
  /// `indexOf` gives the position along a dimension, for `plan.index`.
  RegionEmitter(CpuBuilder &builder, mlir::Region &region,
                llvm::function_ref<llvm::Value *(int64_t)> indexOf);

  /// Emits the region and returns the yielded values.
  Values run(llvm::ArrayRef<llvm::Value *> arguments);
  /// Like `run`, but adds value i to sums[i] if that is given, with an fma if
  /// the value is a product.
  Values runInto(llvm::ArrayRef<llvm::Value *> arguments,
                 llvm::ArrayRef<llvm::Value *> sums);

private:
  void bind(llvm::ArrayRef<llvm::Value *> arguments);
  void emit(mlir::Operation &op);
  llvm::Value *value(mlir::Value value) { return values_.lookup(value); }
  llvm::Value *fusedSum(mlir::Operation &op);
  llvm::Value *product(mlir::Value value, llvm::Value *addend, bool negate);
  llvm::Value *pairs(plan::DotPairsOp op, llvm::Value *sum);

  CpuBuilder &builder_;
  mlir::Block &block_;
  llvm::function_ref<llvm::Value *(int64_t)> indexOf_;
  llvm::DenseMap<mlir::Value, llvm::Value *> values_;
};

} // namespace gradus
