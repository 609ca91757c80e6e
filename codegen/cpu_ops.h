// The ops inside a nest's regions as LLVM instructions, on single elements or
// vectors of them.
#pragma once

#include "codegen/cpu_builder.h"

#include "mlir/IR/Region.h"

#include <string>

namespace gradus {

/// How an element lies in memory and in registers. i1 takes a byte in memory;
/// bf16 and f16 are 16-bit integers until an op widens them.
llvm::Type *memoryType(CpuBuilder &builder, mlir::Type type);
llvm::Type *registerType(CpuBuilder &builder, mlir::Type type);

/// bf16 and f16, between their 16 bits and f32.
bool isNarrowFloat(mlir::Type type);
llvm::Value *widen(CpuBuilder &builder, llvm::Value *bits, mlir::Type type);
llvm::Value *narrow(CpuBuilder &builder, llvm::Value *x, mlir::Type type);

/// A max or min of floats where the sign of a zero does not matter.
llvm::Value *extremum(CpuBuilder &builder, llvm::Intrinsic::ID id,
                      llvm::Value *x, llvm::Value *y);

/// Runs the ops of a region's block on values of any lanes; what depends on
/// nothing but scalars stays scalar.
class RegionEmitter {
public:
  /// `indexOf` gives the position along a dimension, for `plan.index`.
  RegionEmitter(CpuBuilder &builder, mlir::Region &region,
                llvm::function_ref<llvm::Value *(int64_t)> indexOf);

  /// What the region yields.
  Values run(llvm::ArrayRef<llvm::Value *> arguments);
  /// As `run`, with value i added to sums[i] (fused if it is a product) where
  /// sums[i] is given.
  Values runInto(llvm::ArrayRef<llvm::Value *> arguments,
                 llvm::ArrayRef<llvm::Value *> sums);

private:
  void bind(llvm::ArrayRef<llvm::Value *> arguments);
  void emit(mlir::Operation &op);
  llvm::Value *value(mlir::Value value) { return values.lookup(value); }
  llvm::Value *fusedSum(mlir::Operation &op);
  llvm::Value *product(mlir::Value value, llvm::Value *addend, bool negate);

  CpuBuilder &builder;
  mlir::Block &block;
  llvm::function_ref<llvm::Value *(int64_t)> indexOf;
  llvm::DenseMap<mlir::Value, llvm::Value *> values;
};

} // namespace gradus
