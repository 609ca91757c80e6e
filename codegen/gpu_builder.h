// Builds the code of GPU kernels: numbers from positions, loops, conditions.
#pragma once

#include "codegen/nest_access.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace gradus {

/// Positions are of type index, of 64 bits, unless 32 are asked for.
class GpuBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// From here on; the caller has found that all positions and places fit
  /// (gpu_width.h).
  void usePositionsOf32Bits(bool are) { has32Bits = are; }

  /// A position of an index, and back: for ops that take and give those.
  mlir::Value position(mlir::Value index);
  mlir::Value index(mlir::Value position);
  mlir::Value i64(mlir::Value position);

  mlir::Value number(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t factor);
  /// Of a position, which is not negative.
  mlir::Value quotient(mlir::Value x, int64_t divisor);
  mlir::Value remainder(mlir::Value x, int64_t divisor);
  mlir::Value isBelow(mlir::Value x, mlir::Value limit);

  /// The value of a linear function, or an affine expression, at a place.
  mlir::Value evaluate(const Linear &linear, mlir::ValueRange positions);
  mlir::Value evaluate(mlir::AffineExpr expression, mlir::ValueRange positions);
  /// Whether all conditions hold, as i1; null if there are none.
  mlir::Value holds(llvm::ArrayRef<Condition> conditions,
                    mlir::ValueRange positions);
  /// The largest (or smallest) result of a map.
  mlir::Value limit(mlir::AffineMap map, bool largest,
                    mlir::ValueRange positions);

  /// Positions along each dimension of point `n`, the last running fastest.
  Values positionsOf(mlir::Value n, llvm::ArrayRef<int64_t> extents);

  void loop(mlir::Value first, mlir::Value end, mlir::Value step,
            llvm::function_ref<void(mlir::Value)> body);
  /// With values that each turn makes from those of the turn before.
  Values loop(mlir::Value first, mlir::Value end, mlir::Value step,
              Values values,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  /// Without a condition, always.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// `then()` where the condition holds, else `otherwise`.
  mlir::Value choose(mlir::Value condition,
                     llvm::function_ref<mlir::Value()> then,
                     mlir::Value otherwise);

private:
  bool has32Bits = false;
};

/// The type in which elements lie in memory: i1 as i8, integers without signs.
mlir::Type gpuMemoryType(mlir::Type element);
/// The type in which they are computed.
mlir::Type gpuValueType(mlir::Type element);
bool isNarrowGpuFloat(mlir::Type type);

} // namespace gradus
