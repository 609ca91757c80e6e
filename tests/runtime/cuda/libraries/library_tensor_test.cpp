// Where the elements of a library's tensor lie.

#include "runtime/cuda/libraries/library_tensor.h"

#include "runtime/artifact/buffer_use.h"
#include "runtime/artifact_generated.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
namespace fb = gradus::artifact;
using Dims = std::vector<int64_t>;

/// Its bytes are those that its command uses.
static StatusOr<StridedTensor> read(const fb::LibraryTensorT &tensor) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::LibraryTensor::Pack(builder, &tensor));
  const auto &packed =
      *flatbuffers::GetRoot<fb::LibraryTensor>(builder.GetBufferPointer());
  auto made = stridedOf(packed);
  if (made.ok()) {
    EXPECT_EQ(made->bytes(), useOf(packed, /*isWritten=*/false).bytes);
  }
  return made;
}

static Dims stridesOf(const fb::LibraryTensorT &tensor) {
  auto made = read(tensor);
  EXPECT_TRUE(made.ok()) << made.status();
  return made->strides;
}

TEST(LibraryTensor, IsDenseWithTheLastAxisFastest) {
  fb::LibraryTensorT tensor;
  tensor.dims = {2, 3, 4};
  EXPECT_EQ(stridesOf(tensor), (Dims{12, 4, 1}));
  EXPECT_EQ(read(tensor)->bytes(), 96u);
  EXPECT_EQ(read(tensor)->rank(), 3u);
}

TEST(LibraryTensor, HasTheStridesThatItSays) {
  fb::LibraryTensorT tensor;
  tensor.dtype = fb::DType::bf16;
  tensor.dims = {2, 3};
  tensor.strides = {1, 10};
  EXPECT_EQ(stridesOf(tensor), (Dims{1, 10}));
  EXPECT_EQ(read(tensor)->bytes(), 44u); // the last is at 1 + 20
  EXPECT_EQ(read(tensor)->dtype, fb::DType::bf16);
}

TEST(LibraryTensor, KnowsTheRowsThatOthersLieBetween) {
  using Rows = std::pair<uint64_t, uint64_t>;
  auto rows = [](Dims dims, Dims strides) {
    return StridedTensor{fb::DType::bf16, dims, strides}.rows();
  };
  EXPECT_EQ(rows({2, 3, 4}, {12, 4, 1}), Rows(0, 0)); // all in one piece
  EXPECT_EQ(rows({8, 7}, {8, 1}), Rows(14, 16));
  EXPECT_EQ(rows({7, 8}, {1, 8}), Rows(14, 16));
  EXPECT_EQ(rows({2, 4, 7}, {32, 8, 1}), Rows(14, 16));
  EXPECT_EQ(rows({2, 4, 7}, {40, 8, 1}), Rows(0, 0)); // rows of rows
  EXPECT_EQ(rows({5, 1}, {3, 9}), Rows(2, 6));
  EXPECT_EQ(rows({5, 4}, {0, 1}), Rows(0, 0)); // the same row again
  EXPECT_EQ(rows({1, 1}, {1, 1}), Rows(0, 0));
}

/// NHWC: channels are the block of all strides.
TEST(LibraryTensor, MayHaveAnAxisAsBlock) {
  fb::LibraryTensorT tensor;
  tensor.dims = {2, 8, 4, 5};
  tensor.inner_blocks = {8};
  tensor.inner_axes = {1};
  EXPECT_EQ(stridesOf(tensor), (Dims{160, 1, 40, 8}));
  tensor.strides = {160, 160, 40, 8};
  EXPECT_EQ(stridesOf(tensor), (Dims{160, 1, 40, 8}));
  // The last block is the innermost.
  tensor.strides = {};
  tensor.inner_blocks = {5, 8};
  tensor.inner_axes = {3, 1};
  EXPECT_EQ(stridesOf(tensor), (Dims{160, 1, 40, 8}));
}

TEST(LibraryTensor, IsNotBlockedNorPadded) {
  fb::LibraryTensorT tensor;
  tensor.dims = {2, 32, 4, 5};
  tensor.inner_blocks = {16};
  tensor.inner_axes = {1};
  EXPECT_EQ(read(tensor).status().message(),
            "has axis 1 of size 32 in blocks of 16, which libraries of cards "
            "do not take");
  tensor.inner_blocks = tensor.inner_axes = {};
  tensor.padded_dims = {2, 48, 4, 5};
  EXPECT_EQ(read(tensor).status().message(),
            "pads axis 1 of size 32 to 48, which libraries of cards do not");
}
