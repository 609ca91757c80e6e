// What cards have libraries for, by their sizes and layouts.

#include "codegen/libraries/blocked_tensor.h"
#include "codegen/libraries/cuda_libraries.h"

#include <gtest/gtest.h>

using namespace gradus;

namespace {

LibraryCall convolution(LibraryElement element,
                        llvm::ArrayRef<int64_t> weights) {
  LibraryCall call;
  call.name = "convolution";
  call.operands = {rowMajorLayout({8, 32, 14, 14}), rowMajorLayout(weights)};
  call.result = rowMajorLayout({8, 64, 14, 14});
  for (LibraryLayout *layout :
       {&call.operands[0], &call.operands[1], &call.result})
    layout->element = element;
  return call;
}

TEST(CudaLibraries, HaveConvolutionsOf16BitsWithTheirChannelsLast) {
  auto call = convolution(LibraryElement::bf16, {64, 32, 3, 3});
  ASSERT_TRUE(cudaLibraries().choose(call));
  EXPECT_EQ(channelBlockOf(call.operands[0]), 32);
  EXPECT_EQ(channelBlockOf(call.operands[1]), 32);
  EXPECT_EQ(channelBlockOf(call.result), 64);
  EXPECT_EQ(call.result.element, LibraryElement::bf16);
}

TEST(CudaLibraries, LeaveChannelsOfF32AndOfGroups) {
  for (auto call : {convolution(LibraryElement::f32, {64, 32, 3, 3}),
                    convolution(LibraryElement::f16, {2, 32, 16, 3, 3})}) {
    ASSERT_TRUE(cudaLibraries().choose(call));
    EXPECT_FALSE(call.operands[0].isBlocked());
    EXPECT_FALSE(call.result.isBlocked());
  }
}

TEST(CudaLibraries, GiveScratchThatGrowsWithTheCallUpToALimit) {
  auto call = convolution(LibraryElement::f32, {64, 32, 3, 3});
  ASSERT_TRUE(cudaLibraries().choose(call));
  int64_t bytes = 4 * (8 * 32 * 14 * 14 + 64 * 32 * 9 + 8 * 64 * 14 * 14);
  EXPECT_EQ(call.scratch, 2 * bytes / 64 * 64);
  call.operands[0] = rowMajorLayout({1024, 32, 140, 140});
  ASSERT_TRUE(cudaLibraries().choose(call));
  EXPECT_EQ(call.scratch, 32 << 20);
}

TEST(CudaLibraries, GiveStemsScratchForChannelsThatAreMissing) {
  LibraryCall call;
  call.name = "convolution";
  call.operands = {rowMajorLayout({256, 3, 224, 224}),
                   rowMajorLayout({64, 3, 7, 7})};
  call.result = rowMajorLayout({256, 64, 112, 112});
  LibraryCall wide = call;
  for (LibraryLayout *layout :
       {&call.operands[0], &call.operands[1], &call.result})
    layout->element = LibraryElement::bf16;
  ASSERT_TRUE(cudaLibraries().choose(call));
  EXPECT_GE(call.scratch, (32 << 20) + 2 * (256 * 8 * 224 * 224 + 64 * 8 * 49));
  ASSERT_TRUE(cudaLibraries().choose(wide));
  EXPECT_EQ(wide.scratch, 32 << 20) << "f32 has no tensor cores";
}

TEST(CudaLibraries, HaveLargeBatchesOfAttentionInParts) {
  int64_t query[] = {64, 12, 1024, 64}, far[] = {1, 1, 65536, 64};
  EXPECT_LE(*cudaLibraries().attentionScratch({query, query, query, false}),
            1 << 20);
  int64_t some = *cudaLibraries().attentionScratch({query, query, query, true});
  // Two parts of 32 sequences, with 2 MiB a head.
  EXPECT_GT(some, int64_t(2 * 32 * 12) << 20);
  EXPECT_LT(some, int64_t(2 * 32 * 12 + 10) << 20);
  int64_t odd[] = {43, 12, 1024, 64};
  EXPECT_LT(*cudaLibraries().attentionScratch({odd, odd, odd, true}),
            int64_t(2 * 22 * 12 + 10) << 20);
  EXPECT_GE(*cudaLibraries().attentionScratch({far, far, far, true}), int64_t(8)
                                                                          << 30)
      << "one head is never cut";
}

TEST(CudaLibraries, HaveAttentionOfHeadsThatCudnnTakes) {
  auto scratch = [](int64_t head, int64_t values, bool isBackward) {
    int64_t query[] = {2, 4, 100, head}, value[] = {2, 4, 100, values};
    return cudaLibraries().attentionScratch({query, query, value, isBackward});
  };
  EXPECT_TRUE(scratch(64, 64, false));
  EXPECT_GE(*scratch(64, 64, true), 2 * 4 * 100 * 100 * 2)
      << "gradients of the scores";
  EXPECT_FALSE(scratch(60, 60, false));
  EXPECT_FALSE(scratch(256, 256, false));
  EXPECT_FALSE(scratch(64, 32, false));
}

TEST(CudaLibraries, CountTheProductsOfAttention) {
  int64_t query[] = {1, 2, 10, 8}, key[] = {1, 2, 20, 8},
          value[] = {1, 2, 20, 16};
  EXPECT_EQ((AttentionSize{query, key, value, false}.flops()),
            2 * 2 * 10 * 20 * (8 + 16));
  EXPECT_EQ((AttentionSize{query, key, value, true}.flops()),
            2 * 2 * 10 * 20 * (3 * 8 + 2 * 16));
}

} // namespace
