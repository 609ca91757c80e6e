// Combines values over reduced points: sums, maxima and minima.
#pragma once

#include "codegen/cpu/builder.h"

#include "codegen/plan/plan.h"

namespace gradus {

/// Accumulates one combined value of a nest. Narrow floats are accumulated in
/// f32.
class Combiner {
public:
  Combiner(CpuBuilder &builder, Reduction kind, mlir::Type type);

  llvm::Value *identity();
  /// Adds a value of the nest's map region to the accumulator.
  llvm::Value *add(llvm::Value *accumulator, llvm::Value *value);
  /// Joins two accumulators.
  llvm::Value *join(llvm::Value *x, llvm::Value *y);
  llvm::Value *acrossLanes(llvm::Value *accumulator);
  /// Combines the lanes of each accumulator; there are at most as many
  /// accumulators as lanes. The result for accumulator i is in lane i of one
  /// vector; lanes up to the next power of two are undefined.
  llvm::Value *acrossLanes(llvm::ArrayRef<llvm::Value *> accumulators);
  /// Converts the accumulator to a value of the nest.
  llvm::Value *finish(llvm::Value *accumulator);
  /// Whether `add` is only an addition of the value as it is.
  bool isPlainSum() const;

private:
  llvm::Value *oneByOne(llvm::ArrayRef<llvm::Value *> accumulators);

  CpuBuilder *b_;
  Reduction kind_;
  mlir::Type type_;
  llvm::Type *accumulatorType_;
};

} // namespace gradus
