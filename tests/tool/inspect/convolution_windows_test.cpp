// Convolutions and gradients of inputs, whose windows are partly in padding.

#include "tool/inspect/convolution_windows.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
namespace fb = gradus::artifact;

namespace {

using Sizes = std::vector<int64_t>;

/// The share of a call with windows like these.
template <typename Call>
std::optional<double> shareOf(std::vector<Sizes> inputs, Sizes output,
                              fb::WindowsT windows) {
  fb::LibraryCommandT made;
  for (const Sizes &dims : inputs) {
    made.inputs.push_back(std::make_unique<fb::LibraryTensorT>());
    made.inputs.back()->dims = dims;
  }
  made.outputs.push_back(std::make_unique<fb::LibraryTensorT>());
  made.outputs[0]->dims = output;
  Call call;
  call.windows = std::make_unique<fb::WindowsT>(std::move(windows));
  made.op.Set(std::move(call));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::LibraryCommand::Pack(builder, &made));
  return shareInside(
      *flatbuffers::GetRoot<fb::LibraryCommand>(builder.GetBufferPointer()));
}

fb::WindowsT padded() {
  fb::WindowsT windows;
  windows.pads_begin = windows.pads_end = {1, 1};
  return windows;
}

const Sizes kSource = {2, 8, 4, 6}, kWeights = {16, 8, 3, 3},
            kResult = {2, 16, 4, 6};
constexpr double kShare = 10.0 / 12 * 16 / 18;

} // namespace

TEST(ConvolutionWindows, AreTheSameInGradientsOfInputs) {
  EXPECT_DOUBLE_EQ(
      *shareOf<fb::ConvolutionCallT>({kSource, kWeights}, kResult, padded()),
      kShare);
  EXPECT_DOUBLE_EQ(*shareOf<fb::ConvolutionBackwardDataCallT>(
                       {kResult, kWeights}, kSource, padded()),
                   kShare);
}

TEST(ConvolutionWindows, MayHaveStridesDilationsAndGroups) {
  fb::WindowsT windows = padded();
  windows.strides = {2, 2};
  windows.dilations = {1, 2};
  // Rows -1, 0, 1 and 1, 2, 3 of 4; columns -1, 1, 3, then 1, 3, 5 and 3, 5, 7
  // of 8.
  EXPECT_DOUBLE_EQ(*shareOf<fb::ConvolutionCallT>(
                       {{2, 8, 4, 8}, {4, 4, 2, 3, 3}}, {2, 16, 2, 3}, windows),
                   5.0 / 6 * 8 / 9);
}

TEST(ConvolutionWindows, OfShortRowsAreMultipliedByPadding) {
  for (auto [columns, share] : {std::pair(2, 1.0), {3, 10.0 / 12 * 7 / 9}}) {
    Sizes source = kSource, result = kResult;
    source[3] = result[3] = columns;
    EXPECT_DOUBLE_EQ(
        *shareOf<fb::ConvolutionCallT>({source, kWeights}, result, padded()),
        share);
  }
}

TEST(ConvolutionWindows, WithoutPaddingAreInside) {
  EXPECT_DOUBLE_EQ(
      *shareOf<fb::ConvolutionCallT>({kSource, kWeights}, {2, 16, 2, 4}, {}),
      1);
}

/// The numbers of a file may be any: their share is still one.
TEST(ConvolutionWindows, OfForgedNumbersHaveAShare) {
  constexpr int64_t most = INT64_MAX, least = INT64_MIN;
  auto expectShare = [](const std::optional<double> &share) {
    ASSERT_TRUE(share);
    EXPECT_GT(*share, 0);
    EXPECT_LE(*share, 1);
  };
  for (int64_t forged : {most, least, int64_t(-1), int64_t(0), int64_t(1)}) {
    for (auto member : {&fb::WindowsT::strides, &fb::WindowsT::dilations,
                        &fb::WindowsT::pads_begin, &fb::WindowsT::pads_end}) {
      fb::WindowsT windows = padded();
      windows.*member = {forged, forged, forged};
      expectShare(
          shareOf<fb::ConvolutionCallT>({kSource, kWeights}, kResult, windows));
      windows.*member = {forged};
      expectShare(shareOf<fb::ConvolutionBackwardDataCallT>({kResult, kWeights},
                                                            kSource, windows));
    }
    Sizes sizes = {forged, forged, forged, forged};
    expectShare(
        shareOf<fb::ConvolutionCallT>({sizes, kWeights}, kResult, padded()));
    expectShare(
        shareOf<fb::ConvolutionCallT>({kSource, sizes}, kResult, padded()));
    expectShare(
        shareOf<fb::ConvolutionCallT>({kSource, kWeights}, sizes, padded()));
  }
}

TEST(ConvolutionWindows, OfTooFewTensorsAreNotKnown) {
  EXPECT_EQ(shareOf<fb::ConvolutionCallT>({kSource}, kResult, padded()),
            std::nullopt);
}

/// One group, of a source or outputs with few channels.
TEST(ConvolutionWindows, TellFewChannels) {
  auto isOfFew = [](Sizes source, Sizes weights) {
    fb::LibraryCommandT made;
    for (const Sizes &dims : {source, weights}) {
      made.inputs.push_back(std::make_unique<fb::LibraryTensorT>());
      made.inputs.back()->dims = dims;
    }
    made.outputs.push_back(std::make_unique<fb::LibraryTensorT>());
    made.outputs[0]->dims = source;
    fb::ConvolutionCallT call;
    call.windows = std::make_unique<fb::WindowsT>();
    made.op.Set(std::move(call));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::LibraryCommand::Pack(builder, &made));
    return hasFewChannels(
        *flatbuffers::GetRoot<fb::LibraryCommand>(builder.GetBufferPointer()));
  };
  EXPECT_TRUE(isOfFew(kSource, kWeights));
  EXPECT_FALSE(isOfFew({2, 32, 4, 6}, {32, 32, 3, 3}));
  EXPECT_TRUE(isOfFew({2, 64, 4, 6}, {16, 64, 3, 3}));
  EXPECT_FALSE(isOfFew({2, 64, 4, 6}, {64, 1, 1, 3, 3})); // of groups
  EXPECT_FALSE(isOfFew({}, {}));
}
