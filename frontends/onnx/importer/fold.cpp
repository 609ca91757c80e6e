// Index arithmetic on constants.

#include "frontends/onnx/importer/fold.h"

#include "messages/message.h"

#include "llvm/ADT/STLExtras.h"

namespace gradus::onnx {

using llvm::ArrayRef;
using llvm::SmallVector;

absl::StatusOr<SmallVector<int64_t>> commonShape(ArrayRef<int64_t> a,
                                                 ArrayRef<int64_t> b) {
  SmallVector<int64_t> shape(std::max(a.size(), b.size()), 1);
  for (ArrayRef<int64_t> one : {a, b})
    for (size_t i = 0; i < one.size(); ++i) {
      int64_t &extent = shape[shape.size() - 1 - i],
              other = one[one.size() - 1 - i];
      if (extent != other && extent != 1 && other != 1)
        return invalid("shapes [", joined(a), "] and [", joined(b),
                       "] do not broadcast");
      extent = other == 1 ? extent : other;
    }
  return shape;
}

absl::StatusOr<int64_t> normalAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return invalid("axis ", axis, " is out of range for rank ", rank);
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<SmallVector<int64_t>> normalAxes(ArrayRef<int64_t> axes,
                                                int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    GRADUS_ASSIGN_OR_RETURN(int64_t normal, normalAxis(axis, rank));
    if (llvm::is_contained(result, normal))
      return invalid("axis ", axis, " stands twice in [", joined(axes), "]");
    result.push_back(normal);
  }
  llvm::sort(result);
  return result;
}

int64_t positionOf(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    position = position * shape[i] + index[i];
  return position;
}

void forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

SmallVector<int64_t> axesMoved(int64_t rank, int64_t from, int64_t to,
                               int64_t count) {
  SmallVector<int64_t> order;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis < from || axis >= from + count)
      order.push_back(axis);
  for (int64_t i = 0; i < count; ++i)
    order.insert(order.begin() + to + i, from + i);
  return order;
}

Constant gathered(const Constant &input, ArrayRef<int64_t> shape,
                  llvm::function_ref<int64_t(ArrayRef<int64_t>)> place) {
  Constant result = zeros(input.element, shape);
  int64_t next = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t from = place(index);
    if (input.tensor.isFloat)
      result.tensor.floats[next++] = input.tensor.floats[from];
    else
      result.tensor.integers[next++] = input.tensor.integers[from];
  });
  return result;
}

Constant expanded(const Constant &input, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = input.tensor.shape;
  return gathered(input, shape, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (size_t i = 0; i < from.size(); ++i)
      position = position * from[i] +
                 (from[i] == 1 ? 0 : index[index.size() - from.size() + i]);
    return position;
  });
}

} // namespace gradus::onnx
