// A bias as the weight of one more input of its layer, which is always 1: in
// the factor of the inputs this is a row and a column behind the others.
#pragma once

#include "passes/local/layer_moments.h"

namespace gradus {

/// Whether a bias is added to all that a layer puts out, in each use of its
/// weight, and nowhere else: its gradient is the sum of their `outputs` over
/// all rows. A weight of which a use has a part of the outputs, one of several
/// layers, and that of a transposed convolution, whose windows share outputs,
/// have none.
bool isBiasOf(const WeightLayers &layers, ParameterUpdate bias);

/// Puts a 1 behind the features of each row, in the diagonal blocks of the
/// rows' second moment: `moment` is [groups B, b, b] of f32, where b is at most
/// one more than the features. Blocks grow by one where the last was full.
mlir::Value withOnes(mlir::OpBuilder &builder, const SideRows &rows,
                     mlir::Value moment);

} // namespace gradus
