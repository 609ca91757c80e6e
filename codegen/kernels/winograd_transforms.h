// The transforms of Winograd's algorithms F(4x4, 3x3) and F(2x2, 3x3) on
// scalars: 6x6, or 4x4, values of an input and 3x3 weights become as many each,
// whose products become 4x4, or 2x2, outputs (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2016).
//
//   output   = A' [(G g G') o (B' d B)] A
//   weights' gradient = G' [(B' d B) o (A y A')] G
//
// The points of interpolation are 0, +-a, +-b and infinity with a = 5/8 and
// b = 3/2, which lose less than half of the digits that +-1 and +-2 lose; of
// the smaller tiles 0, +-1 and infinity.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// Squares of scalars in row-major order. A null one is a known zero, such as
/// an input in the padding: it costs nothing.
using WinogradSquare = llvm::SmallVector<mlir::Value, 36>;

/// B' d B: 6x6 inputs to 6x6, or 4x4 to 4x4.
WinogradSquare winogradInput(const Arithmetic &s, mlir::ValueRange d);
/// G g G': 3x3 weights to the planes of a tile of 4x4 or 2x2 outputs.
WinogradSquare winogradWeights(const Arithmetic &s, mlir::ValueRange g,
                               int64_t tile);
/// A' m A: 6x6 products to 4x4 outputs, or 4x4 to 2x2.
WinogradSquare winogradOutput(const Arithmetic &s, mlir::ValueRange m);
/// A y A': the 4x4 gradients of outputs to 6x6, or 2x2 to 4x4.
WinogradSquare winogradGradient(const Arithmetic &s, mlir::ValueRange y);
/// G' m G: 6x6 or 4x4 products to the 3x3 gradients of weights.
WinogradSquare winogradWeightGradient(const Arithmetic &s, mlir::ValueRange m);

} // namespace gradus
