#include "passes/learning_rate.h"

#include "program_text.h"

#include <cmath>

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

/// The factor at a step under a schedule, by the evaluator.
static double factorAt(const char *schedule, double step) {
  PassText source(std::string("gradus.program @p attributes {recipe = "
                              "{schedule = {learning_rate = ") +
                  schedule + R"(}}} {
  gradus.graph @g(%step: tensor<f64>) {
    gradus.return
  }
})");
  GraphOp graph = source.program().getGraph("g");
  OpBuilder builder(graph.getBody().front().getTerminator());
  auto factor = scheduleFactor(Arithmetic(builder, graph.getLoc()),
                               recipeOf(source.program()),
                               graph.getBody().getArgument(0));
  EXPECT_TRUE(succeeded(factor)) << source.messages;
  graph.addOutput("factor", *factor);
  HostTensor input = zeros(ArrayRef<int64_t>{});
  input.floats[0] = step;
  StateMap states;
  auto results = evaluateGraph(graph, input, states);
  EXPECT_TRUE(succeeded(results)) << source.messages;
  return (*results)[0].floats[0];
}

TEST(LearningRate, WarmsUpThenFallsAsACosine) {
  const char *schedule = R"([{type = "linear_warmup", steps = 4 : i64},
                             {type = "cosine", steps = 10 : i64, final = 1.0e-1}])";
  EXPECT_DOUBLE_EQ(factorAt(schedule, 0), 0.25);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 3), 1);
  EXPECT_NEAR(factorAt(schedule, 9), 0.1 + 0.9 * (1 + std::cos(M_PI / 2)) / 2,
              1e-12);
  EXPECT_NEAR(factorAt(schedule, 14), 0.1, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 1000), 0.1, 1e-12);
}

TEST(LearningRate, IsConstantWithoutASchedule) {
  EXPECT_EQ(factorAt("[]", 5), 1);
}
