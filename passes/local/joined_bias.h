// A bias as the weight of one more input of its layer, which is always 1: in
// the factor of the inputs this is a row and a column behind the others.
#pragma once

#include "passes/local/weight_products.h"

namespace gradus {

/// Finds the update of the bias that is added to what a layer puts out: its
/// gradient is the sum of the layer's `outputs` over all rows. Null where there
/// is none.
ParameterUpdate biasOf(const WeightProduct &product,
                       llvm::ArrayRef<ParameterUpdate> updates);

/// The rows of a layer's inputs, as `gram` reads them.
struct InputRows {
  mlir::Value value;
  int64_t axis; // of the features; of images it is 1
  ConvolutionBackwardWeightsOp window = {}; // null: no patches
  int64_t groups = 1;
  int64_t features = 0; // of a row of a group
};

/// Puts a 1 behind the features of each row, in the diagonal blocks of the
/// rows' second moment: `moment` is [groups B, b, b] of f32, where b is at most
/// one more than the features. Blocks grow by one where the last was full.
mlir::Value withOnes(mlir::OpBuilder &builder, const InputRows &rows,
                     mlir::Value moment);

} // namespace gradus
