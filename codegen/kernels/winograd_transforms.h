// The transforms of Winograd's algorithm F(4x4, 3x3) on scalars: 6x6 values of
// an input and 3x3 weights become 6x6 each, whose products become 4x4 outputs
// (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016).
//
//   output   = A' [(G g G') o (B' d B)] A
//   weights' gradient = G' [(B' d B) o (A y A')] G
//
// The points of interpolation are 0, +-a, +-b and infinity with a = 5/8 and
// b = 3/2. They lose less than half of the digits that +-1 and +-2 lose.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// Squares of scalars in row-major order. A null one is a known zero, such as
/// an input in the padding: it costs nothing.
using WinogradSquare = llvm::SmallVector<mlir::Value, 36>;

/// B' d B: 6x6 inputs to 6x6.
WinogradSquare winogradInput(const Arithmetic &s, mlir::ValueRange d);
/// G g G': 3x3 weights to 6x6.
WinogradSquare winogradWeights(const Arithmetic &s, mlir::ValueRange g);
/// A' m A: 6x6 products to 4x4 outputs.
WinogradSquare winogradOutput(const Arithmetic &s, mlir::ValueRange m);
/// A y A': the 4x4 gradients of outputs to 6x6.
WinogradSquare winogradGradient(const Arithmetic &s, mlir::ValueRange y);
/// G' m G: 6x6 products to the 3x3 gradients of weights.
WinogradSquare winogradWeightGradient(const Arithmetic &s, mlir::ValueRange m);

} // namespace gradus
