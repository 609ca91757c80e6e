// The figures that fusion and kernel forming decide by.

#include "codegen/plan/nest_cost.h"
#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// The one nest of a graph.
struct OneNest {
  explicit OneNest(const std::string &signature, const std::string &body)
      : check(graphProgram(signature, body), "lower-to-nests,fuse") {
    nest = *check.graph("g").getBody().getOps<plan::NestOp>().begin();
  }
  PlanCheck check;
  plan::NestOp nest;
};

TEST(NestCost, CountsTwoFlopsATermOfAProduct) {
  OneNest product(
      "%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> (y: tensor<4x3xf32>",
      "%0 = gradus.matmul %a, %b : tensor<4x8xf32>, tensor<8x3xf32> -> "
      "tensor<4x3xf32>\n"
      "gradus.return %0 : tensor<4x3xf32>");
  EXPECT_EQ(costOf(product.nest).flops, 2 * 4 * 8 * 3);
  EXPECT_EQ(bytesOf(product.nest), 4 * (4 * 8 + 8 * 3 + 4 * 3));
  EXPECT_TRUE(isContraction(product.nest));
}

TEST(NestCost, KnowsMovesAndCheapWork) {
  OneNest move(
      "%a: tensor<4xf32>) -> (y: tensor<3x4xf32>",
      "%0 = gradus.broadcast %a dims [1] : tensor<4xf32> -> tensor<3x4xf32>\n"
      "gradus.return %0 : tensor<3x4xf32>");
  EXPECT_TRUE(isMove(move.nest));
  EXPECT_FALSE(isContraction(move.nest));
  OneNest exp(
      "%a: tensor<4xf32>) -> (y: tensor<4xf32>",
      "%0 = math.exp %a : tensor<4xf32>\ngradus.return %0 : tensor<4xf32>");
  EXPECT_FALSE(isMove(exp.nest));
  EXPECT_FALSE(isCheap(exp.nest));
}

} // namespace
