// When convolutions get blocks of 8 channels, and that these compute the same.

#include "codegen/libraries/channel_blocks.h"

#include "tests/codegen/compiled_run.h"
#include "tests/codegen/nests/needs_onednn.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *window =
    " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : ";

/// A convolution of 3x3 with as many outputs as inputs.
Candidate candidate(mlir::Operation *op, int64_t channels, int64_t groups) {
  Candidate found(op);
  found.call.name = "convolution";
  found.call.operands = {rowMajorLayout({8, channels, 28, 28}),
                         rowMajorLayout({channels, channels / groups, 3, 3})};
  found.call.result = found.call.operands[0];
  ProductSize &size = found.size;
  size.channels = channels;
  size.taps = 9;
  size.isDepthwise = groups == channels;
  size.isGrouped = groups > 1 && !size.isDepthwise;
  size.narrowest = size.channelsInCommon = channels / groups;
  size.flops = 8 * 28 * 28 * channels * size.narrowest * 18;
  return found;
}

class ChannelBlocks : public ::testing::Test {
protected:
  ChannelBlocks()
      : module_(mlir::parseSourceString<mlir::ModuleOp>(
            graphProgram("%x: tensor<f32>) -> (y: tensor<f32>",
                         "%0 = gradus.relu %x : tensor<f32>\n"
                         "gradus.return %0 : tensor<f32>"),
            context_.get())) {
    module_->walk([&](ReluOp op) { op_ = op; });
  }

  Candidate of(int64_t channels, int64_t groups) {
    return candidate(op_, channels, groups);
  }
  bool prefers(const Candidate &found, bool isWinograds = false) {
    BlockTimes times;
    addConvolution(times, found, isWinograds);
    return prefersBlocksOf8(times);
  }

private:
  std::unique_ptr<mlir::MLIRContext> context_ = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::Operation *op_ = nullptr;
};

TEST_F(ChannelBlocks, AreOf8ForNarrowGroupsAndWidthsThatFillNoneOf16) {
  EXPECT_TRUE(prefers(of(64, 8)));   // groups of 8
  EXPECT_TRUE(prefers(of(24, 1)));   // a third of two blocks is empty
  EXPECT_TRUE(prefers(of(80, 2)));   // groups of 40, between reorders
  EXPECT_FALSE(prefers(of(64, 4)));  // groups of 16
  EXPECT_FALSE(prefers(of(64, 1)));  // no groups
  EXPECT_FALSE(prefers(of(64, 16))); // groups of 4 are ours with both
  EXPECT_FALSE(prefers(of(24, 24))); // so is what is depthwise
  EXPECT_FALSE(prefers(of(64, 1), /*isWinograds=*/true));
}

TEST_F(ChannelBlocks, AreOf8OnlyIfTheySaveEnoughInAll) {
  BlockTimes times;
  addConvolution(times, of(24, 1), false);
  for (int i = 0; i < 8; ++i)
    addConvolution(times, of(64, 1), false);
  EXPECT_LT(times.of8, times.of16);
  EXPECT_FALSE(prefersBlocksOf8(times));
}

TEST_F(ChannelBlocks, AreForWindowsThatTheLibraryHasKernelsFor) {
  Candidate dilated = of(64, 8), deep = of(64, 8), rounded = of(64, 8);
  dilated.size.isDilated = rounded.size.is16Bits = true;
  deep.size.windowDims = 3;
  for (Candidate *found : {&dilated, &deep, &rounded}) {
    EXPECT_FALSE(prefers(*found));
    useBlocksOf8(*found);
    EXPECT_EQ(found->call.channelBlock, 0);
    EXPECT_EQ(found->size.channelBlock, 0);
  }
}

/// Whether a program of one convolution may have blocks of 8.
bool mayBe(int channels) {
  auto context = makeContext();
  std::string count = std::to_string(channels),
              weight = "tensor<" + count + "x" + count + "x3x3xf32>",
              type = "tensor<1x" + count + "x4x4xf32>";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      graphProgram("%x: " + type + ", %w: " + weight + ") -> (y: " + type,
                   "%0 = gradus.convolution %x, %w" + std::string(window) +
                       type + ", " + weight + " -> " + type +
                       "\ngradus.return %0 : " + type),
      context.get());
  EXPECT_TRUE(module);
  return mayHaveBlocksOf8(*module->getBody()->getOps<ProgramOp>().begin());
}

TEST_F(ChannelBlocks, MayBeInProgramsThatFillThem) {
  EXPECT_TRUE(mayBe(24));
  EXPECT_FALSE(mayBe(32));
  EXPECT_FALSE(mayBe(20));
}

TEST_F(ChannelBlocks, AreAskedForAsFarAsTheyAreFilled) {
  Candidate whole = of(24, 1), groups = of(64, 8), fours = of(64, 16),
            depthwise = of(24, 24), stem = of(32, 1);
  stem.size.channelsInCommon = 1; // of 3 inputs
  struct {
    Candidate &found;
    int64_t asked, filled;
  } cases[] = {{whole, 8, 8},
               {groups, 8, 8},
               {fours, 0, 0},
               {depthwise, 8, 8},
               {stem, 8, 0}};
  for (auto &[found, asked, filled] : cases) {
    useBlocksOf8(found);
    EXPECT_EQ(found.call.channelBlock, asked);
    EXPECT_EQ(found.size.channelBlock, filled);
  }
}

/// What a group of 8 channels, strides of 1 or 2, and its gradients give.
void convolveInGroups(int stride) {
  NEEDS_ONEDNN();
  std::string x = "tensor<2x24x10x10xf32>", w = "tensor<24x8x3x3xf32>",
              y = stride == 1 ? x : "tensor<2x24x5x5xf32>",
              s = std::to_string(stride);
  std::string how = " strides [" + s + ", " + s +
                    "] pads [1, 1] to [1, 1] dilations [1, 1] groups 3 : ";
  CompiledRun run(graphProgram(
      "%x: " + x + ", %w: " + w + ", %dy: " + y + ") -> (y: " + y +
          ", dx: " + x + ", dw: " + w,
      "%0 = gradus.convolution %x, %w" + how + x + ", " + w + " -> " + y +
          "\n%1 = gradus.relu %0 : " + y +
          "\n%dx = gradus.convolution_backward_data %dy, %w" + how + y + ", " +
          w + " -> " + x +
          "\n%dw = gradus.convolution_backward_weights %x, %dy" + how + x +
          ", " + y + " -> " + w + "\ngradus.return %1, %dx, %dw : " + y + ", " +
          x + ", " + w));
  run.run("select{library=always blocks-of-8=true},propagate-layouts");
  EXPECT_EQ(callsOf(run, "convolution"), 1);
  EXPECT_EQ(callsOf(run, "convolution_backward_data"), 1);
  EXPECT_EQ(callsOf(run, "convolution_backward_weights"), 1);
}

TEST(ChannelBlocksRun, ConvolvesInGroups) { convolveInGroups(1); }
TEST(ChannelBlocksRun, ConvolvesInGroupsByStrides) { convolveInGroups(2); }

/// A stem, a convolution in groups and one of single elements, with sums of
/// channels between: all but the stem's input is in blocks.
TEST(ChannelBlocksRun, ConvolvesFromImages) {
  NEEDS_ONEDNN();
  std::string x = "tensor<2x3x10x10xf32>", h = "tensor<2x24x10x10xf32>",
              a = "tensor<24x3x3x3xf32>", b = "tensor<24x8x3x3xf32>",
              c = "tensor<40x24x1x1xf32>", y = "tensor<2x40x10x10xf32>";
  CompiledRun run(graphProgram(
      "%x: " + x + ", %a: " + a + ", %b: " + b + ", %c: " + c +
          ") -> (y: " + y + ", s: tensor<24xf32>",
      "%0 = gradus.convolution %x, %a" + std::string(window) + x + ", " + a +
          " -> " + h + "\n%1 = gradus.relu %0 : " + h +
          "\n%s = gradus.reduce mean %1 axes [0, 2, 3] : " + h +
          " -> tensor<24xf32>\n%2 = gradus.broadcast %s dims [1] : "
          "tensor<24xf32> -> " +
          h + "\n%3 = arith.subf %1, %2 : " + h +
          "\n%4 = gradus.convolution %3, %b strides [1, 1] pads [1, 1] to "
          "[1, 1] dilations [1, 1] groups 3 : " +
          h + ", " + b + " -> " + h +
          "\n%5 = gradus.convolution %4, %c strides [1, 1] pads [0, 0] to "
          "[0, 0] dilations [1, 1] : " +
          h + ", " + c + " -> " + y + "\ngradus.return %5, %s : " + y +
          ", tensor<24xf32>"));
  run.run("select{library=always blocks-of-8=true},propagate-layouts");
  EXPECT_EQ(callsOf(run, "convolution"), 3);
}

} // namespace
