#include "runtime/artifact/buffer_use.h"

#include <gtest/gtest.h>

#include <string>

using namespace gradus;
using runtime::BufferUse;

namespace {

/// "r4 of 2": reads four bytes of buffer 2.
std::string inWords(const BufferUse &use) {
  return std::string(use.isRead ? "r" : "") + (use.isWritten ? "w" : "") +
         std::to_string(use.bytes) + " of " + std::to_string(use.buffer);
}

/// A table that is packed for as long as the object lives.
template <typename Table> class Packed {
public:
  explicit Packed(const typename Table::NativeTableType &table) {
    builder_.Finish(Table::Pack(builder_, &table));
  }
  const Table &operator*() const {
    return *flatbuffers::GetRoot<Table>(builder_.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

/// The uses of three arguments of 4 bytes by a kernel with those outputs.
std::string usesOf(uint32_t outputs) {
  artifact::KernelSignatureT made;
  made.fixed_bytes = {4, 4, 4};
  made.outputs = outputs;
  Packed<artifact::KernelSignature> kernel(made);
  std::string uses;
  for (size_t i = 0; i < 3; ++i) {
    runtime::ArgumentUse use = runtime::useOf(*kernel, i);
    uses += i ? " " : "";
    uses += use.isRead ? "r" : "";
    uses += use.isWritten ? "w" : "";
  }
  return uses;
}

artifact::LibraryTensorT tensor(std::vector<int64_t> dims,
                                std::vector<int64_t> strides = {}) {
  artifact::LibraryTensorT made;
  made.dims = std::move(dims);
  made.strides = std::move(strides);
  return made;
}

uint64_t bytesOf(const artifact::LibraryTensorT &made) {
  Packed<artifact::LibraryTensor> packed(made);
  return runtime::useOf(*packed, false).bytes;
}

} // namespace

TEST(BufferUse, OfAKernelAreItsInputsAndThenItsOutputs) {
  EXPECT_EQ(usesOf(1), "r r w");
  EXPECT_EQ(usesOf(3), "w w w");
}

TEST(BufferUse, OfAKernelMayBeBothWhereNobodySays) {
  EXPECT_EQ(usesOf(0), "rw rw rw");
}

TEST(BufferUse, OfASegmentGrowWithItsItems) {
  artifact::KernelSignatureT signature;
  signature.fixed_bytes = {8};
  signature.bytes_per_item = {4};
  signature.outputs = 1;
  artifact::SegmentT segment;
  segment.buffers = {7};
  segment.items = 10;
  auto use = [&] {
    return inWords(runtime::useOf(*Packed<artifact::KernelSignature>(signature),
                                  *Packed<artifact::Segment>(segment), 0));
  };
  EXPECT_EQ(use(), "w48 of 7");
  signature.bytes_per_item = {UINT64_MAX / 2};
  EXPECT_EQ(use(), "w" + std::to_string(UINT64_MAX) + " of 7");
}

TEST(BufferUse, OfATensorReachToItsLastElement) {
  EXPECT_EQ(bytesOf(tensor({2, 3})), 24u);
  EXPECT_EQ(bytesOf(tensor({2, 3}, {1, 10})), 4 * (20u + 1 + 1));
  EXPECT_EQ(bytesOf(tensor({2, 3}, {0, 1})), 12u);
  artifact::LibraryTensorT blocked = tensor({2, 13});
  blocked.padded_dims = {2, 16};
  blocked.inner_blocks = {8};
  blocked.inner_axes = {1};
  EXPECT_EQ(bytesOf(blocked), 4 * 32u);
  blocked.inner_axes = {2};
  EXPECT_EQ(bytesOf(blocked), UINT64_MAX);
  EXPECT_EQ(bytesOf(tensor({int64_t{1} << 40, int64_t{1} << 40})), UINT64_MAX);
}
