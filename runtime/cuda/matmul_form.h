// A matmul command as cuBLASLt multiplies: matrices of columns, one batch.
//
// cuBLASLt's matrices have their columns one after the other, and ours their
// rows: the transposed product, D' = B' A', is the same elements in the same
// places. A result whose columns lie together is multiplied as it is.
#pragma once

#include "runtime/artifact.h"
#include "runtime/status.h"

namespace gradus::runtime::cuda {

/// As it is stored, column by column, `lead` elements from one to the next.
struct StoredMatrix {
  artifact::DType dtype = artifact::DType::f32;
  bool isTransposed = false; // when multiplied
  int64_t rows = 0, columns = 0, lead = 0;
  int64_t batchStride = 0;
};

/// Which operand is summed along what is multiplied, beside the product.
enum class Summed { none, a, b };

/// d = activation(a b + bias), `batches` times.
struct MatmulForm {
  StoredMatrix a, b, d;
  int64_t batches = 1;
  bool isSwapped = false; // a are the weights, and b the source
  bool hasBias = false;   // along the columns of d
  Summed summed = Summed::none;
  artifact::Activation activation = artifact::Activation::none;
  /// A matrix like d holds what gelu is of: gelu_tanh writes it, and
  /// gelu_tanh_gradient reads it.
  bool hasGeluInput = false;
};

/// Says what cuBLASLt has no way to express.
StatusOr<MatmulForm> matmulFormOf(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda
