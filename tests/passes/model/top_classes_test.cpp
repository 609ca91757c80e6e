// Which labels are among the largest logits, by the evaluator.

#include "passes/model/top_classes.h"

#include "tests/passes/program_text.h"

#include <cmath>

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

/// The fraction of three labels among the two largest of four logits.
static double among(std::vector<double> logits, std::vector<int64_t> labels) {
  PassText source(R"(gradus.program @p {
    gradus.graph @g(%logits: tensor<3x4xf32>, %label: tensor<3xi64>) {
      gradus.return
    }
  })");
  GraphOp graph = source.program().getGraph("g");
  OpBuilder builder(graph.getBody().front().getTerminator());
  graph.addOutput("top", buildTopClasses(builder, graph.getLoc(),
                                         graph.getBody().getArgument(0),
                                         graph.getBody().getArgument(1), 1,
                                         /*ignoreIndex=*/-100, /*most=*/2));
  HostTensor values = zeros({3, 4}), classes = zeros({3}, /*isFloat=*/false);
  values.floats.assign(logits.begin(), logits.end());
  classes.integers.assign(labels.begin(), labels.end());
  StateMap states;
  auto results = evaluateGraph(graph, {values, classes}, states);
  EXPECT_TRUE(succeeded(results)) << source.messages;
  return (*results)[0].floats[0];
}

TEST(TopClasses, CountsLabelsAmongTheLargest) {
  std::vector<double> logits = {0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1};
  EXPECT_NEAR(among(logits, {1, 2, 3}), 2 / 3.0, 1e-6);
  EXPECT_EQ(among(logits, {0, 0, 3}), 0);
}

TEST(TopClasses, TakesTheFirstOfEqualOnes) {
  std::vector<double> logits(12, 7);
  EXPECT_NEAR(among(logits, {0, 1, 2}), 2 / 3.0, 1e-6);
}

TEST(TopClasses, LeavesIgnoredLabelsOut) {
  std::vector<double> logits = {0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1};
  EXPECT_EQ(among(logits, {1, -100, 3}), 0.5);
  EXPECT_TRUE(std::isnan(among(logits, {-100, -100, -100})));
}

TEST(TopClasses, TakesANaNForTheLargest) {
  std::vector<double> logits = {NAN, NAN, NAN, NAN, NAN,      3,
                                2,   1,   0,   3,   INFINITY, -INFINITY};
  EXPECT_NEAR(among(logits, {1, 2, 2}), 1 / 3.0, 1e-6);
}
