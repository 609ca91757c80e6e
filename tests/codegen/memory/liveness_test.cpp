#include "codegen/memory/liveness.h"

#include "tests/codegen/program_text.h"

using namespace gradus;

static const char *const chain = R"(
gradus.program @p {
  gradus.graph @g(%x: tensor<100xf32>) -> (y: tensor<10x10xf32>) {
    %a = plan.launch @k(%x) items [1] grain 1 inplace [-1] : (tensor<100xf32>) -> tensor<100xf32>
    %r = gradus.reshape %a : tensor<100xf32> -> tensor<10x10xf32>
    %b = plan.launch @k(%x) items [1] grain 1 inplace [-1] : (tensor<100xf32>) -> tensor<100xf32>
    %c = plan.launch @k(%b) items [1] grain 1 inplace [-1] : (tensor<100xf32>) -> tensor<100xf32>
    gradus.return %r : tensor<10x10xf32>
  }
})";

TEST(Liveness, SizesAreWholeCacheLines) {
  ProgramText text(chain);
  mlir::Builder builder(&text.context);
  auto booleans = mlir::RankedTensorType::get({65}, builder.getI1Type());
  EXPECT_EQ(tensorBytes(booleans), 65);
  EXPECT_EQ(paddedBytes(booleans), 128);
  EXPECT_EQ(
      tensorBytes(mlir::RankedTensorType::get({100}, builder.getF32Type())),
      400);
}

TEST(Liveness, AReturnedValueLivesToTheEndThroughItsReshape) {
  ProgramText text(chain);
  GraphOp graph = text.graph("g");
  auto commands = commandsOf(graph);
  auto ranges = liveRanges(graph, commands);
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(ranges[commands[0]->getResult(0)].end, 4);
  EXPECT_EQ(ranges[graph.getBody().getArgument(0)].end, 2);
  EXPECT_EQ(ranges[commands[1]->getResult(0)].begin, 1);
  EXPECT_EQ(ranges[commands[1]->getResult(0)].end, 3);
  EXPECT_EQ(storageOf(graph.getReturned()[0]), commands[0]->getResult(0));
}
