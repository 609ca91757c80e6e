// Builds the code of GPU kernels: index arithmetic, loops, conditions.
#pragma once

#include "codegen/plan/nest_access.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace gradus {

/// Positions have the type index, which is 64 bits wide, or 32 bits on request.
class GpuBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// Uses 32 bits from now on; the caller has checked that all positions and
  /// offsets fit (gpu/width.h).
  void usePositionsOf32Bits(bool are) { has32Bits_ = are; }

  /// Converts between a position and an index, for ops on the latter.
  mlir::Value position(mlir::Value index);
  mlir::Value index(mlir::Value position);
  mlir::Value i64(mlir::Value position);

  mlir::Value number(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t factor);
  /// x / divisor for a position, which is not negative.
  mlir::Value quotient(mlir::Value x, int64_t divisor);
  mlir::Value remainder(mlir::Value x, int64_t divisor);
  mlir::Value isBelow(mlir::Value x, mlir::Value limit);

  /// The value of a linear function or an affine expression at the given
  /// positions.
  mlir::Value evaluate(const Linear &linear, mlir::ValueRange positions);
  mlir::Value evaluate(mlir::AffineExpr expression, mlir::ValueRange positions);
  /// The conjunction of the conditions, as i1; null if there are none.
  mlir::Value holds(llvm::ArrayRef<Condition> conditions,
                    mlir::ValueRange positions);
  /// The largest (or smallest) result of a map.
  mlir::Value limit(mlir::AffineMap map, bool largest,
                    mlir::ValueRange positions);

  /// The position along each dimension of point `n`, with the last dimension
  /// running fastest.
  Values positionsOf(mlir::Value n, llvm::ArrayRef<int64_t> extents);

  void loop(mlir::Value first, mlir::Value end, mlir::Value step,
            llvm::function_ref<void(mlir::Value)> body);
  /// A loop that carries values from one iteration to the next.
  Values loop(mlir::Value first, mlir::Value end, mlir::Value step,
              Values values,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  /// Runs `body` if the condition holds; a null condition always does.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// `then()` if the condition holds, else `otherwise`.
  mlir::Value choose(mlir::Value condition,
                     llvm::function_ref<mlir::Value()> then,
                     mlir::Value otherwise);

private:
  bool has32Bits_ = false;
};

/// The type of elements in memory: i1 as i8, integers without signs.
mlir::Type gpuMemoryType(mlir::Type element);
/// The type that elements are computed in.
mlir::Type gpuValueType(mlir::Type element);
bool isNarrowGpuFloat(mlir::Type type);

} // namespace gradus
