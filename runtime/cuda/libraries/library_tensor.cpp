// Reads strides and blocks like runtime/artifact/verify_library.cpp.

#include "runtime/cuda/libraries/library_tensor.h"

#include "runtime/flat.h"

#include <algorithm>

namespace gradus::runtime::cuda {

uint64_t StridedTensor::bytes() const {
  uint64_t last = 0;
  for (size_t i = 0; i < rank(); ++i)
    last += uint64_t(dims[i] - 1) * uint64_t(strides[i]);
  return (last + 1) * bytesOf(dtype);
}

std::pair<uint64_t, uint64_t> StridedTensor::rows() const {
  std::vector<std::pair<int64_t, int64_t>> axes; // stride, size
  for (size_t i = 0; i < rank(); ++i)
    if (dims[i] > 1)
      axes.push_back({strides[i], dims[i]});
  std::sort(axes.begin(), axes.end());
  int64_t row = 1, next = 1, pitch = 0; // next: expected stride of another axis
  for (auto [stride, size] : axes) {
    if (pitch == 0 && stride > next)
      pitch = stride;
    else if (stride != next)
      return {};
    next = stride * size;
    row = pitch ? row : next;
  }
  return {pitch ? row * bytesOf(dtype) : 0, pitch * bytesOf(dtype)};
}

StatusOr<StridedTensor> stridedOf(const artifact::LibraryTensor &tensor) {
  StridedTensor made{tensor.dtype(), valuesOf(tensor.dims()),
                     valuesOf(tensor.strides())};
  bool isDense = made.strides.empty();
  made.strides.resize(made.rank());
  for (size_t i = 0; i < countOf(tensor.padded_dims()); ++i)
    if (tensor.padded_dims()->Get(i) != made.dims[i])
      return invalid("pads axis ", i, " of size ", made.dims[i], " to ",
                     tensor.padded_dims()->Get(i),
                     ", which libraries of cards do not");
  int64_t dense = 1; // elements of the inner dimensions
  std::vector<bool> isInner(made.rank());
  for (size_t i = countOf(tensor.inner_blocks()); i-- > 0;) {
    int64_t axis = tensor.inner_axes()->Get(i),
            block = tensor.inner_blocks()->Get(i);
    if (block != made.dims[axis])
      return invalid("has axis ", axis, " of size ", made.dims[axis],
                     " in blocks of ", block,
                     ", which libraries of cards do not take");
    made.strides[axis] = dense;
    isInner[axis] = true;
    dense *= block;
  }
  for (size_t i = made.rank(); isDense && i-- > 0;)
    if (!isInner[i]) {
      made.strides[i] = dense;
      dense *= made.dims[i];
    }
  return made;
}

StatusOr<Tensors> stridedOf(
    const flatbuffers::Vector<flatbuffers::Offset<artifact::LibraryTensor>>
        *list,
    const char *what) {
  Tensors made;
  for (size_t i = 0; i < countOf(list); ++i) {
    auto tensor = stridedOf(*list->Get(i));
    GRADUS_TRY(at(tensor.status(), what, " ", i));
    made.push_back(*std::move(tensor));
  }
  return made;
}

} // namespace gradus::runtime::cuda
