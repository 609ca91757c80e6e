// Counts the bytes of kernels' arguments and of library tensors.

#include "runtime/artifact/buffer_use.h"

namespace gradus::runtime {

//===-- kernels -----------------------------------------------------------===//

ArgumentUse useOf(const artifact::KernelSignature &kernel, size_t argument) {
  if (kernel.outputs() == 0)
    return {true, true};
  bool isWritten = argument + kernel.outputs() >= countOf(kernel.fixed_bytes());
  return {!isWritten, isWritten};
}

BufferUse useOf(const artifact::KernelSignature &kernel,
                const artifact::Segment &segment, size_t argument) {
  auto number = unsigned(argument);
  uint64_t bytes;
  if (__builtin_mul_overflow(kernel.bytes_per_item()->Get(number),
                             uint64_t(segment.items()), &bytes) ||
      __builtin_add_overflow(kernel.fixed_bytes()->Get(number), bytes, &bytes))
    bytes = UINT64_MAX;
  ArgumentUse use = useOf(kernel, argument);
  return {segment.buffers()->Get(number), bytes, use.isRead, use.isWritten};
}

//===-- library calls -----------------------------------------------------===//

std::vector<int64_t> blocksPerAxis(const artifact::LibraryTensor &tensor) {
  constexpr size_t kMostBlocks = 12; // oneDNN's own limit
  constexpr int64_t kLargest = 4096, kMostElements = int64_t{1} << 40;
  size_t count = countOf(tensor.inner_blocks()), rank = countOf(tensor.dims());
  if (countOf(tensor.inner_axes()) != count || count > kMostBlocks)
    return {};
  std::vector<int64_t> blocks(rank, 1);
  for (unsigned i = 0; i < count; ++i) {
    int64_t axis = tensor.inner_axes()->Get(i),
            block = tensor.inner_blocks()->Get(i);
    if (axis < 0 || axis >= int64_t(rank) || block < 1 || block > kLargest)
      return {};
    if ((blocks[size_t(axis)] *= block) > kMostElements)
      return {};
  }
  return blocks;
}

std::optional<int64_t> extentOf(const artifact::LibraryTensor &tensor) {
  std::vector<int64_t> blocks = blocksPerAxis(tensor);
  const auto *padded =
      countOf(tensor.padded_dims()) ? tensor.padded_dims() : tensor.dims();
  if (blocks.empty())
    return std::nullopt;
  int64_t extent = 1;
  for (int64_t block : blocks)
    if (__builtin_mul_overflow(extent, block, &extent))
      return std::nullopt;
  int64_t dense = extent; // elements of the axes behind
  for (size_t axis = blocks.size(); axis-- > 0;) {
    auto number = unsigned(axis);
    int64_t outer = padded->Get(number) / blocks[axis];
    int64_t stride =
        countOf(tensor.strides()) ? tensor.strides()->Get(number) : dense;
    int64_t reach;
    if (__builtin_mul_overflow(outer - 1, stride, &reach) ||
        __builtin_add_overflow(extent, reach, &extent) ||
        __builtin_mul_overflow(dense, outer, &dense))
      return std::nullopt;
  }
  return extent;
}

BufferUse useOf(const artifact::LibraryTensor &tensor, bool isWritten) {
  std::optional<int64_t> extent = extentOf(tensor);
  int64_t bytes = 0;
  bool isCounted =
      extent && !__builtin_mul_overflow(
                    *extent, int64_t(bytesOf(tensor.dtype())), &bytes);
  return {tensor.buffer(), isCounted ? uint64_t(bytes) : UINT64_MAX, !isWritten,
          isWritten};
}

} // namespace gradus::runtime
