// A matmul command in cuBLASLt's form: column-major matrices, one batch axis.
//
// cuBLASLt's matrices are column-major, ours row-major: the transposed matmul,
// D' = B' A', has the same elements in memory. A result that is column-major
// already is not swapped.
#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/status.h"

namespace gradus::runtime::cuda {

/// A column-major matrix with `lead` elements from one column to the next.
struct StoredMatrix {
  artifact::DType dtype = artifact::DType::f32;
  bool isTransposed = false; // when multiplied
  int64_t rows = 0, columns = 0, lead = 0;
  int64_t batchStride = 0;
};

/// The operand that is summed along the contracted dimension besides the
/// matmul.
enum class Summed { none, a, b };

/// d = activation(a b + bias), `batches` times.
struct MatmulForm {
  StoredMatrix a, b, d;
  int64_t batches = 1;
  bool isSwapped = false; // a is the weights, b the source
  bool hasBias = false;   // along the columns of d
  Summed summed = Summed::none;
  artifact::Activation activation = artifact::Activation::none;
  /// Whether a matrix like d has the input of gelu: gelu_tanh writes it, and
  /// gelu_tanh_gradient reads it.
  bool hasGeluInput = false;
};

/// Converts a command; the error says what cuBLASLt cannot express.
StatusOr<MatmulForm> matmulFormOf(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda
