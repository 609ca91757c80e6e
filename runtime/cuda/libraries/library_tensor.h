// The tensors of library commands described by strides, the only form that
// cuBLASLt, cuDNN and plain loops support.
#pragma once

#include "runtime/artifact/artifact.h"

#include <vector>

namespace gradus::runtime::cuda {

/// A tensor whose element (i, j, ...) is at i * strides[0] + j * strides[1] +
/// ... elements from its address.
struct StridedTensor {
  artifact::DType dtype = artifact::DType::f32;
  std::vector<int64_t> dims, strides;

  size_t rank() const { return dims.size(); }
  /// The bytes from the first element to the end of the last.
  uint64_t bytes() const;
  /// The bytes of a row and the distance between rows, if the elements are rows
  /// with others' elements between them; else zeros.
  std::pair<uint64_t, uint64_t> rows() const;
};

/// Converts a verified tensor. An inner block must contain a whole axis: NHWC
/// is dims [n, c, h, w] with c as inner block. Other blocks and padded sizes
/// are for CPUs, and an error here.
StatusOr<StridedTensor> stridedOf(const artifact::LibraryTensor &tensor);

using Tensors = std::vector<StridedTensor>;
/// Converts each tensor; `what` is for errors: "input 1: pads axis 0".
StatusOr<Tensors> stridedOf(
    const flatbuffers::Vector<flatbuffers::Offset<artifact::LibraryTensor>>
        *list,
    const char *what);

} // namespace gradus::runtime::cuda
