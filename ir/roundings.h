// How far the roundings of a machine move the values of a graph: the measure of
// what compiled code may deviate from the evaluator.
//
// Backward error analysis: a result is as good as its op can make it if it is
// the exact one of operands moved by no more than n u, relatively, where u is
// the rounding unit and n the number of terms that are summed (Higham, Accuracy
// and Stability of Numerical Algorithms, section 3.1).
#pragma once

#include "ir/settling.h"

#include <random>

namespace gradus {

/// The most by which rounding to an element type changes a number, relatively.
double roundingUnit(mlir::Type element);

/// How many terms a result of the op sums, as far as they count; 1 for
/// arithmetic on elements.
int64_t summedTerms(mlir::Operation &op);

/// Numbers as their type holds them: those of 16 bits are rounded, those
/// beyond the range of f32 are infinite. f32 itself stays exact.
void settleTo(mlir::Type element, HostTensor &tensor);

/// Moves the operands and the results of each op that rounds by as much as its
/// roundings may, up or down by chance.
class Roundings : public Settling {
public:
  /// Other draws go other ways.
  explicit Roundings(uint64_t draw) : draw_(draw) {}
  void operands(mlir::Operation &op,
                llvm::MutableArrayRef<HostTensor> tensors) override;
  void made(mlir::Value value, HostTensor &tensor) override;

private:
  void move(HostTensor &tensor, double part);
  std::mt19937_64 draw_;
};

} // namespace gradus
