// Bounds how far rounding on a machine moves the values of a graph, and so how
// far compiled code may deviate from the evaluator.
//
// Backward error analysis: a result is as good as its op can make it if it is
// the exact one of operands moved by no more than n u, relatively, where u is
// the rounding unit and n the number of terms that are summed (Higham, Accuracy
// and Stability of Numerical Algorithms, section 3.1).
#pragma once

#include "ir/evaluator/settling.h"

#include <random>

namespace gradus {

/// The maximum relative change when a number is rounded to an element type.
double roundingUnit(mlir::Type element);

/// Changes numbers to what their type holds: those of 16 bits are rounded,
/// those beyond the range of f32 become infinite. f32 itself stays exact.
void settleTo(mlir::Type element, HostTensor &tensor);

/// Moves the operands and the results of each op that rounds by as much as its
/// rounding may, up or down at random; in scans each op of each step.
class Roundings : public Settling {
public:
  /// Each `draw` gives another random choice of directions.
  explicit Roundings(uint64_t draw) : draw_(draw) {}
  void operands(mlir::Operation &op,
                llvm::MutableArrayRef<HostTensor> tensors) override;
  void made(mlir::Value value, HostTensor &tensor) override;

private:
  void move(HostTensor &tensor, double part);
  std::mt19937_64 draw_;
};

} // namespace gradus
