// Means of factors over time, step by step.

#include "passes/methods/factor_means.h"

#include "../program_text.h"

using namespace gradus;
using gradus::testing::PassText;
using mlir::Value;

namespace {

/// A step that measures two blocks, of one element each, and returns their mean
/// over all steps so far.
class Measuring {
public:
  explicit Measuring(double decay)
      : text_(R"(
gradus.program @p {
  gradus.graph @train(%a: tensor<2x1x1xf32>) -> () {
    gradus.return
  }
})"),
        graph_(text_.program().getGraph("train")) {
    mlir::OpBuilder builder(graph_.getBody().front().getTerminator());
    Arithmetic math(builder, graph_.getLoc());
    States states(text_.program());
    Value weight = weightOfMeasurement(math, states, "count", decay);
    EXPECT_TRUE(weight) << text_.messages;
    auto mean = meanOverTime(math, states, "mean",
                             graph_.getBody().getArgument(0), weight);
    EXPECT_TRUE(succeeded(mean)) << text_.messages;
    graph_.addOutput("mean", *mean);
    for (auto state : text_.program().getBody().getOps<StateOp>())
      states_[state.getSymName()] =
          zeros(mlir::cast<mlir::RankedTensorType>(state.getType()));
  }

  std::vector<double> step(double one, double other) {
    HostTensor input = zeros(tensorType(graph_.getBody().getArgument(0)));
    input.floats[0] = one;
    input.floats[1] = other;
    auto results = evaluateGraph(graph_, {input}, states_);
    EXPECT_TRUE(succeeded(results)) << text_.messages;
    return {results->front().floats[0], results->front().floats[1]};
  }

  int64_t count() { return states_["count"].integers[0]; }

private:
  PassText text_;
  GraphOp graph_;
  StateMap states_;
};

} // namespace

TEST(FactorMeans, WeighWhatIsOldByPowersOfTheDecay) {
  Measuring of(0.5);
  EXPECT_NEAR(of.step(8, 1)[0], 8, 1e-6);
  EXPECT_NEAR(of.step(2, 1)[0], (2 + 0.5 * 8) / 1.5, 1e-5);
  EXPECT_NEAR(of.step(5, 1)[0], (5 + 0.5 * 2 + 0.25 * 8) / 1.75, 1e-5);
  EXPECT_NEAR(of.step(0, 1)[1], 1, 1e-6);
  EXPECT_EQ(of.count(), 4);
}

TEST(FactorMeans, AreTheLastMeasurementWithoutDecay) {
  Measuring of(0);
  for (double number : {3.0, -2.0, 7.0})
    EXPECT_NEAR(of.step(number, 1)[0], number, 1e-6);
}

/// The other block is counted.
TEST(FactorMeans, LeaveOutBlocksThatAreNotFinite) {
  Measuring of(0.5);
  of.step(8, 4);
  auto found = of.step(INFINITY, 1);
  EXPECT_NEAR(found[0], 8, 1e-6);
  EXPECT_NEAR(found[1], (1 + 0.5 * 4) / 1.5, 1e-5);
}

TEST(FactorMeans, AreRefusedWhereTheModelHasTheirStates) {
  PassText text(R"(
gradus.program @p {
  gradus.state @count : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train() -> () {
    gradus.return
  }
})");
  GraphOp graph = text.program().getGraph("train");
  mlir::OpBuilder builder(graph.getBody().front().getTerminator());
  States states(text.program());
  EXPECT_FALSE(weightOfMeasurement(Arithmetic(builder, graph.getLoc()), states,
                                   "count", 0.5));
  EXPECT_NE(text.messages.find("count"), std::string::npos) << text.messages;
}
