// Layouts as oneDNN wants them, and which products it is asked for.

#include "codegen/libraries/blocked_tensor.h"
#include "tests/codegen/nests/needs_onednn.h"

#include "llvm/TargetParser/Host.h"

using namespace gradus;

namespace {

LibraryCall convolution() {
  LibraryCall call;
  call.name = "convolution";
  call.operands = {rowMajorLayout({4, 32, 16, 16}),
                   rowMajorLayout({64, 32, 3, 3})};
  call.result = rowMajorLayout({4, 64, 16, 16});
  call.strides = call.dilations = call.padsBegin = call.padsEnd = {1, 1};
  return call;
}

TEST(OneDnn, LayoutsAreTheLibrarysOwnWhereItMayChoose) {
  NEEDS_ONEDNN();
  LibraryCall call = convolution();
  ASSERT_TRUE(askOneDnn(call, /*free=*/true));
  EXPECT_EQ(call.result.dims, convolution().result.dims);
  EXPECT_FALSE(call.operands[1] == convolution().operands[1]);
  EXPECT_GE(call.operands[1].elements, 64 * 32 * 9);
}

/// The block of channels of a call's source and result.
std::pair<int64_t, int64_t> blocksOf(const LibraryCall &call) {
  return {channelBlockOf(call.operands[0]), channelBlockOf(call.result)};
}

TEST(OneDnn, HasBlocksOf8ChannelsWhereTheyAreAskedFor) {
  NEEDS_ONEDNN();
  LibraryCall call = convolution();
  call.channelBlock = 8;
  ASSERT_TRUE(askOneDnn(call, /*free=*/true));
  EXPECT_EQ(blocksOf(call), std::pair(int64_t(8), int64_t(8)));
  LibraryCall stem = convolution();
  stem.operands = {rowMajorLayout({4, 3, 16, 16}),
                   rowMajorLayout({64, 3, 3, 3})};
  stem.channelBlock = 8;
  ASSERT_TRUE(askOneDnn(stem, /*free=*/true));
  EXPECT_EQ(blocksOf(stem), std::pair(int64_t(0), int64_t(8)));
}

// Groups of 4 channels have kernels for other layouts, or none.
TEST(OneDnn, ChoosesWhereItHasPlainLoopsForTheBlocksAskedFor) {
  NEEDS_ONEDNN();
  LibraryCall call = convolution();
  call.operands[1] = rowMajorLayout({8, 8, 4, 3, 3});
  LibraryCall asked = call;
  asked.channelBlock = 8;
  ASSERT_TRUE(askOneDnn(call, /*free=*/true));
  ASSERT_TRUE(askOneDnn(asked, /*free=*/true));
  EXPECT_EQ(asked.channelBlock, 0);
  EXPECT_TRUE(asked.result == call.result);
}

TEST(OneDnn, LayoutsStayWhereTheyAreFixed) {
  LibraryCall call = convolution();
  ASSERT_TRUE(askOneDnn(call, /*free=*/false));
  EXPECT_TRUE(call.operands[0] == convolution().operands[0]);
}

TEST(OneDnn, RefusesWhatCannotBe) {
  NEEDS_ONEDNN();
  LibraryCall call = convolution();
  call.result = rowMajorLayout({4, 64, 99, 16});
  EXPECT_FALSE(askOneDnn(call, /*free=*/true));
}

/// Where the library's choice has channels last, its kernels of blocks are as
/// fast, unless the target multiplies bf16 by tiles.
TEST(OneDnn, GradientsOfStridedConvolutionsAreInBlocks) {
  NEEDS_ONEDNN();
  auto host = llvm::sys::getHostCPUFeatures();
  if (!host.lookup("avx512bf16") || host.lookup("amx-bf16"))
    GTEST_SKIP() << "this processor has no pairs of bf16, or has tiles, too";
  LibraryCall call;
  call.name = "convolution_backward_data";
  call.operands = {rowMajorLayout({2, 64, 14, 14}),
                   rowMajorLayout({64, 32, 1, 1})};
  call.result = rowMajorLayout({2, 32, 28, 28});
  call.strides = {2, 2};
  call.dilations = {1, 1};
  call.padsBegin = {0, 0};
  call.padsEnd = {0, 0};
  for (auto element : {LibraryElement::f32, LibraryElement::bf16}) {
    LibraryCall asked = call;
    for (LibraryLayout &operand : asked.operands)
      operand.element = element;
    ASSERT_TRUE(askOneDnn(asked, /*free=*/true));
    EXPECT_EQ(channelBlockOf(asked.operands[0]), 16);
    EXPECT_EQ(channelBlockOf(asked.result), 16);
    LibraryCall withTiles = call;
    withTiles.tiles = true;
    for (LibraryLayout &operand : withTiles.operands)
      operand.element = element;
    ASSERT_TRUE(askOneDnn(withTiles, /*free=*/true));
    EXPECT_EQ(channelBlockOf(withTiles.result),
              element == LibraryElement::bf16 ? 0 : 16);
  }
}

TEST(OneDnn, LeavesSmallAndNarrowProductsToUs) {
  auto reason = [](ProductSize size) {
    return oneDnn().reasonAgainst(size).str();
  };
  EXPECT_EQ(reason({49'999'999, 512, false}), "it is small");
  EXPECT_EQ(reason({50'000'000, 31, false}), "it is narrow");
  EXPECT_EQ(reason({50'000'000, 32, false}), "");
  EXPECT_EQ(reason({499'999'999, 3, true}), "it is narrow");
  EXPECT_EQ(reason({500'000'000, 3, true}), "");
  ProductSize stem{
      .flops = 99'999'999, .narrowest = 3, .mayBeNarrow = true, .isStem = true};
  EXPECT_EQ(reason(stem), "it is narrow");
  stem.flops = 100'000'000;
  EXPECT_EQ(reason(stem), "");
  stem.is16Bits = true;
  EXPECT_EQ(reason(stem), "it is narrow");
}

TEST(OneDnn, TakesConvolutionsBetweenWhichWorkIsInBlocks) {
  auto reason = [](ProductSize size) {
    return oneDnn().reasonAgainst(size).str();
  };
  ProductSize pointwise{
      .flops = 50'000'000, .narrowest = 16, .isPointwise = true};
  EXPECT_EQ(reason(pointwise), "");
  ProductSize depthwise{.flops = 5'000'000,
                        .narrowest = 1,
                        .isDepthwise = true,
                        .channels = 96,
                        .taps = 25};
  EXPECT_EQ(reason(depthwise), "");
  depthwise.givesWeights = true;
  EXPECT_EQ(reason(depthwise),
            "the library's gradient of so large windows is slow");
  depthwise.taps = 9;
  EXPECT_EQ(reason(depthwise), "");
  depthwise.is16Bits = pointwise.is16Bits = true;
  EXPECT_EQ(
      reason(depthwise),
      "it is depthwise, whose gradients of 16 bits are slow in the library");
  EXPECT_EQ(reason(pointwise), "it is narrow");
  depthwise.is16Bits = false;
  depthwise.channels = 40;
  EXPECT_EQ(reason(depthwise), "its channels fill no blocks");
  depthwise.flops = 4'999'999;
  EXPECT_EQ(reason(depthwise), "it is small");
}

TEST(OneDnn, TakesGroupsOfWholeBlocks) {
  auto reason = [](ProductSize size) {
    return oneDnn().reasonAgainst(size).str();
  };
  ProductSize size{.flops = 5'000'000,
                   .narrowest = 16,
                   .channels = 64,
                   .taps = 9,
                   .isGrouped = true,
                   .channelsInCommon = 16};
  EXPECT_EQ(reason(size), "");
  for (bool ProductSize::*fact :
       {&ProductSize::is16Bits, &ProductSize::isDilated}) {
    size.*fact = true;
    EXPECT_EQ(reason(size), "it is small");
    size.*fact = false;
  }
  size.flops = 50'000'000;
  size.narrowest = size.channelsInCommon = 8;
  EXPECT_EQ(reason(size), "it is narrow");
  size.channelBlock = 8;
  EXPECT_EQ(reason(size), "");
  size.flops = 4'999'999;
  EXPECT_EQ(reason(size), "it is small");
}

// The library has kernels for windows of two dimensions without gaps.
TEST(OneDnn, LeavesDepthwiseWindowsOfOtherKindsToUs) {
  ProductSize size{
      .flops = 5'000'000, .isDepthwise = true, .channels = 96, .taps = 9};
  EXPECT_EQ(oneDnn().reasonAgainst(size).str(), "");
  const std::string loops =
      "the library has plain loops for such windows of single channels";
  size.isDilated = true;
  EXPECT_EQ(oneDnn().reasonAgainst(size).str(), loops);
  size.isDilated = false;
  for (int64_t dims : {1, 3}) {
    size.windowDims = dims;
    EXPECT_EQ(oneDnn().reasonAgainst(size).str(), loops);
  }
}

TEST(OneDnn, ChoosesLayoutsOfConvolutionsAlone) {
  NEEDS_ONEDNN();
  LibraryCall call = convolution();
  ASSERT_TRUE(oneDnn().choose(call));
  EXPECT_FALSE(call.operands[1] == convolution().operands[1]);
  LibraryCall product;
  product.name = "matmul";
  product.operands = {rowMajorLayout({64, 64}), rowMajorLayout({64, 64})};
  product.result = rowMajorLayout({64, 64});
  LibraryCall chosen = product;
  ASSERT_TRUE(oneDnn().choose(chosen));
  EXPECT_TRUE(chosen.result == product.result);
  EXPECT_TRUE(chosen.operands[1] == product.operands[1]);
}

} // namespace
