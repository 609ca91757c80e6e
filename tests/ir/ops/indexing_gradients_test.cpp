// What rows of gradient_rows.h cannot show of the gradients of parts.

#include "tests/ir/graphs.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

/// An embedding that is asked twice for a row gets both gradients there.
TEST(IndexingGradients, OfAGatherAreSummedWhereIndicesMeet) {
  auto module = parseGraph("%x: tensor<3x1xf64>, %i: tensor<3xi64>",
                           "%y = gradus.gather %x at %i axis 0 : "
                           "tensor<3x1xf64>, tensor<3xi64> -> tensor<3x1xf64>");
  GraphOp graph = graphOf(*module);
  Operation *op = lastOp(graph);
  OpBuilder builder(graph.getBody().front().getTerminator());
  Value seed = graph.addInput("seed", op->getResult(0).getType(), op->getLoc());
  auto gradients = cast<Differentiable>(op).pullback(builder, seed);
  EXPECT_FALSE(gradients[1]);
  graph.addOutput("gradient", gradients[0]);
  StateMap states;
  auto found =
      evaluateGraph(graph,
                    {floats({3, 1}, {0, 0, 0}), integers({3}, {2, 0, -1}),
                     floats({3, 1}, {1, 2, 4})},
                    states);
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->back().floats, (std::vector<double>{2, 0, 5}));
}
