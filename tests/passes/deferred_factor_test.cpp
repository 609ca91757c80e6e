// The tests tell which factors a loss is taken apart by, and which it keeps.

#include "passes/deferred_factor.h"

#include "passes/passes.h"
#include "tests/passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

/// A graph whose output is what `build` makes of its inputs.
struct Built {
  PassText text{R"(
gradus.program @p {
  gradus.graph @train(%loss: tensor<f32>, %factor: tensor<f32>) -> (loss: tensor<f32>) {
    gradus.return %loss : tensor<f32>
  }
})"};
  GraphOp graph = text.program().getGraph("train");
  mlir::OpBuilder builder{graph.getBody().front().getTerminator()};
  Arithmetic math{builder, graph.getLoc()};
  mlir::Value loss = graph.getBody().getArgument(0);
  mlir::Value factor = graph.getBody().getArgument(1);
};

} // namespace

TEST(DeferredFactor, IsFoundBehindConstants) {
  Built built;
  mlir::Value product = deferFactor(built.math, built.loss, built.factor);
  mlir::Value weighted = built.math.scale(0.5, product);
  DeferredLoss parts = deferredParts(weighted);
  EXPECT_EQ(parts.value, built.loss);
  ASSERT_EQ(parts.factors.size(), 2u);
  EXPECT_EQ(parts.factors[1], built.factor);
  auto all = parts.factor(built.math).getDefiningOp<mlir::arith::MulFOp>();
  ASSERT_TRUE(all);
  EXPECT_EQ(all.getLhs(), built.factor);
}

TEST(DeferredFactor, IsNoOtherProduct) {
  Built built;
  mlir::Value product = built.math.multiply(built.loss, built.factor);
  mlir::Value weighted = built.math.scale(0.5, built.loss);
  for (mlir::Value loss : {product, weighted, built.loss}) {
    DeferredLoss parts = deferredParts(loss);
    EXPECT_EQ(parts.value, loss);
    EXPECT_FALSE(parts.factor(built.math));
  }
}

TEST(DeferredFactor, OfOneTermIsNoneOfTheSum) {
  Built built;
  mlir::Value product = deferFactor(built.math, built.loss, built.factor);
  mlir::Value sum = built.math.add(product, built.loss);
  EXPECT_EQ(deferredParts(sum).value, sum);
  EXPECT_TRUE(deferredParts(sum).factors.empty());
}
