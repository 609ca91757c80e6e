// The arithmetic of shapes with blocked channels.

#include "codegen/libraries/blocked_tensor.h"

#include "codegen/plan/plan.h"
#include "ir/build.h"

namespace gradus {
using namespace mlir;

int64_t channelBlockOf(const LibraryLayout &layout) {
  ArrayRef<int64_t> dims = layout.dims;
  if (dims.size() < 3 || layout.innerBlocks.size() != 1 ||
      layout.innerAxes[0] != 1 || layout.paddedDims != layout.dims)
    return 0;
  int64_t block = layout.innerBlocks[0], stride = block;
  if (dims[1] % block != 0)
    return 0;
  for (size_t d = dims.size(); d-- > 0;) {
    int64_t extent = d == 1 ? dims[d] / block : dims[d];
    if (extent > 1 && layout.strides[d] != stride)
      return 0;
    stride *= extent;
  }
  return block;
}

LibraryLayout blockedLayout(ArrayRef<int64_t> shape, int64_t block) {
  LibraryLayout layout = rowMajorLayout(shape);
  int64_t stride = block;
  for (size_t d = shape.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride *= d == 1 ? shape[d] / block : shape[d];
  }
  layout.innerBlocks = {block};
  layout.innerAxes = {1};
  return layout;
}

SmallVector<int64_t> blockedShape(ArrayRef<int64_t> shape, int64_t block) {
  SmallVector<int64_t> result(shape);
  result[1] /= block;
  result.push_back(block);
  return result;
}

Value reorder(OpBuilder &builder, Location location, Value value,
              RankedTensorType type, const LibraryLayout &from,
              const LibraryLayout &to) {
  if (from == to)
    return value;
  MLIRContext *context = builder.getContext();
  auto op = plan::LibraryOp::create(
      builder, location, type, "reorder", value, builder.getDictionaryAttr({}),
      builder.getArrayAttr(
          {toAttribute(from, context), toAttribute(to, context)}),
      0, 0, builder.getStringAttr("reorder"), /*epilogue=*/{});
  return op.getResult(0);
}

/// The permutation from [N, C/b, b, ...] to [N, C/b, ..., b].
static SmallVector<int64_t> blockLast(int64_t rank) {
  SmallVector<int64_t> order = {0, 1};
  for (int64_t d = 3; d <= rank; ++d)
    order.push_back(d);
  order.push_back(2);
  return order;
}

Value blocked(OpBuilder &builder, Location location, Value plain,
              int64_t block) {
  SmallVector<int64_t> shape(tensorType(plain).getShape());
  auto order = blockLast(shape.size());
  shape[1] /= block;
  shape.insert(shape.begin() + 2, block);
  return transpose(builder, location, reshape(builder, location, plain, shape),
                   order);
}

Value unblocked(OpBuilder &builder, Location location, Value blocked,
                ArrayRef<int64_t> shape) {
  auto order = blockLast(shape.size());
  SmallVector<int64_t> back(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    back[dim] = position;
  return reshape(builder, location, transpose(builder, location, blocked, back),
                 shape);
}

} // namespace gradus
