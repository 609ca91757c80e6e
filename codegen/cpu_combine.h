// Combining values over reduced points: sums, maxima and minima.
#pragma once

#include "codegen/cpu_builder.h"

#include "codegen/plan.h"

namespace gradus {

/// How one combined value of a nest accumulates. Narrow floats do so as f32.
class Combiner {
public:
  Combiner(CpuBuilder &builder, Reduction kind, mlir::Type type);

  llvm::Value *identity();
  /// The accumulator with a value of the nest's map region more.
  llvm::Value *add(llvm::Value *accumulator, llvm::Value *value);
  /// Two accumulators as one.
  llvm::Value *join(llvm::Value *x, llvm::Value *y);
  llvm::Value *acrossLanes(llvm::Value *accumulator);
  /// As `acrossLanes` of each, at most as many as they have lanes: one vector
  /// with the result of the first in lane 0, and so on; lanes up to the next
  /// power of two are undefined.
  llvm::Value *acrossLanes(llvm::ArrayRef<llvm::Value *> accumulators);
  /// The accumulator as a value of the nest.
  llvm::Value *finish(llvm::Value *accumulator);
  /// Whether adding a value is the sum of it and the accumulator as they are.
  bool isPlainSum() const;

private:
  llvm::Value *oneByOne(llvm::ArrayRef<llvm::Value *> accumulators);

  CpuBuilder *b;
  Reduction kind;
  mlir::Type type;
  llvm::Type *accumulatorType;
};

} // namespace gradus
