// The tensors of library commands as strides say them, which is all that
// cuBLASLt, cuDNN and plain loops take.
#pragma once

#include "runtime/artifact.h"

#include <vector>

namespace gradus::runtime::cuda {

/// Element (i, j, ...) lies i * strides[0] + j * strides[1] + ... elements
/// behind the tensor's address.
struct StridedTensor {
  artifact::DType dtype = artifact::DType::f32;
  std::vector<int64_t> dims, strides;

  size_t rank() const { return dims.size(); }
  /// From the first element to the end of the last.
  uint64_t bytes() const;
  /// Bytes of a row and from one row to the next, where its elements are rows
  /// with others' between them; else zeros.
  std::pair<uint64_t, uint64_t> rows() const;
};

/// Of a tensor that is verified. An inner block must hold a whole axis: NHWC is
/// dims [n, c, h, w] with c as inner block. What else blocks and padded sizes
/// can say is for processors, and an error.
StatusOr<StridedTensor> stridedOf(const artifact::LibraryTensor &tensor);

using Tensors = std::vector<StridedTensor>;
/// Of each; `what` is for words: "input 1: pads axis 0".
StatusOr<Tensors> stridedOf(
    const flatbuffers::Vector<flatbuffers::Offset<artifact::LibraryTensor>>
        *list,
    const char *what);

} // namespace gradus::runtime::cuda
