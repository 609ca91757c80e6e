#include "codegen/nests/sums_around.h"

#include "tests/codegen/program_text.h"

using namespace gradus;

/// Two sums, the second of which needs the first; what stands between needs
/// one, the other, or neither.
static const char *const twoSums = R"(
gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>, z: tensor<4xf32>) {
    %a = math.tanh %x : tensor<4xf32>
    %b = math.exp %x : tensor<4xf32>
    %token = plan.start %a number 0 : tensor<4xf32> -> tensor<0xi8>
    %s = plan.finish %token, %a number 0 : tensor<0xi8>, tensor<4xf32> -> tensor<4xf32>
    %c = math.sin %s : tensor<4xf32>
    %other = plan.start %b number 1 : tensor<4xf32> -> tensor<0xi8>
    %t = plan.finish %other, %b number 1 : tensor<0xi8>, tensor<4xf32> -> tensor<4xf32>
    %d = math.cos %t : tensor<4xf32>
    %e = math.log %s : tensor<4xf32>
    gradus.return %c, %d : tensor<4xf32>, tensor<4xf32>
  }
})";

TEST(SumsAround, OpsAgreeThatWaitForTheSameAndLetTheSameWait) {
  ProgramText text(twoSums);
  mlir::Block &block = text.graph("g").getBody().front();
  SumsAround sums(block);
  auto op = [&](llvm::StringRef name) -> mlir::Operation * {
    for (mlir::Operation &each : block)
      if (each.getName().getStringRef() == name)
        return &each;
    return nullptr;
  };
  EXPECT_TRUE(sums.agree(op("math.tanh"), op("math.tanh")));
  EXPECT_FALSE(sums.agree(op("math.tanh"), op("math.exp")))
      << "the first sum would wait for what the second needs";
  EXPECT_FALSE(sums.agree(op("math.tanh"), op("math.sin")));
  EXPECT_FALSE(sums.agree(op("math.sin"), op("math.cos")))
      << "what the first sum lets go on would wait for the second";
  EXPECT_TRUE(sums.agree(op("math.sin"), op("math.log")));
}

TEST(SumsAround, AllAgreeWithoutSums) {
  ProgramText text(R"(
gradus.program @p {
  gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %a = math.tanh %x : tensor<4xf32>
    %b = math.exp %a : tensor<4xf32>
    gradus.return %b : tensor<4xf32>
  }
})");
  mlir::Block &block = text.graph("g").getBody().front();
  EXPECT_TRUE(
      SumsAround(block).agree(&block.front(), block.front().getNextNode()));
}
