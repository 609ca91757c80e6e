// Which layouts are blocked channels, and that blocking is undone by its
// inverse.

#include "codegen/libraries/blocked_tensor.h"
#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

LibraryLayout blockedBy16() {
  LibraryLayout layout = rowMajorLayout({2, 32, 5, 7});
  layout.strides = {2 * 5 * 7 * 16, 5 * 7 * 16, 7 * 16, 16};
  layout.innerBlocks = {16};
  layout.innerAxes = {1};
  return layout;
}

TEST(BlockedTensor, KnowsItsLayout) {
  EXPECT_EQ(channelBlockOf(blockedBy16()), 16);
  EXPECT_EQ(channelBlockOf(rowMajorLayout({2, 32, 5, 7})), 0);
  LibraryLayout padded = blockedBy16();
  padded.dims[1] = 30;
  EXPECT_EQ(channelBlockOf(padded), 0) << "padding would be read as channels";
  LibraryLayout swapped = blockedBy16();
  std::swap(swapped.strides[2], swapped.strides[3]);
  EXPECT_EQ(channelBlockOf(swapped), 0);
  LibraryLayout other = blockedBy16();
  other.innerAxes = {0};
  EXPECT_EQ(channelBlockOf(other), 0);
}

TEST(BlockedTensor, MakesTheLayoutOfAShape) {
  EXPECT_EQ(blockedLayout({2, 32, 5, 7}, 16), blockedBy16());
}

TEST(BlockedTensor, HasTheBlockLast) {
  EXPECT_EQ(blockedShape({2, 32, 5, 7}, 16),
            (llvm::SmallVector<int64_t>{2, 2, 5, 7, 16}));
}

TEST(BlockedTensor, ComesBackPlain) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      graphProgram("%x: tensor<1x4x3xf32>) -> (b: tensor<1x2x3x2xf32>, "
                   "y: tensor<1x4x3xf32>",
                   "%c = arith.constant dense<0.0> : tensor<1x2x3x2xf32>\n"
                   "gradus.return %c, %x : tensor<1x2x3x2xf32>, "
                   "tensor<1x4x3xf32>"),
      context.get());
  auto graph = (*module->getBody()->getOps<ProgramOp>().begin()).getGraph("g");
  mlir::Operation *end = graph.getBody().front().getTerminator();
  mlir::OpBuilder builder(end);
  mlir::Value x = end->getOperand(1);
  mlir::Value inBlocks = blocked(builder, end->getLoc(), x, 2);
  end->setOperand(0, inBlocks);
  end->setOperand(1, unblocked(builder, end->getLoc(), inBlocks, {1, 4, 3}));
  HostTensor input = zeros({1, 4, 3});
  std::iota(input.floats.begin(), input.floats.end(), 0);
  StateMap states;
  auto results = *evaluateGraph(graph, {input}, states);
  EXPECT_EQ(results[0].floats,
            (std::vector<double>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
  EXPECT_EQ(results[1].floats, input.floats);
}

} // namespace
