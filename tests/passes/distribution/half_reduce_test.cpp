// Gradients of 16 bits on several ranks, by the reference evaluator.

#include "ranks.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// The loss is the mean of `x w`: x is the gradient of w.
std::string programOf(const std::string &keys, const std::string &more = "") {
  return R"(
gradus.program @p attributes {recipe = {loss = {type = "output"},
    optimizer = {type = "sgd", learning_rate = 1.0}, )" +
         more + R"( distribution = {mode = "data_parallel", )" + keys + R"(}}} {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<0.0> : tensor<2xf32>}
  gradus.graph @predict(%x: tensor<2xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2xf32>
    %y = arith.mulf %x, %w : tensor<2xf32>
    %loss = gradus.reduce sum %y axes [0] : tensor<2xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
})";
}

std::vector<double> trained(Ranks &ranks, std::vector<double> one,
                            std::vector<double> two) {
  auto input = [](std::vector<double> numbers) {
    HostTensor x = zeros({2});
    x.floats = numbers;
    return Inputs{x};
  };
  ranks.step({input(one), input(two)});
  EXPECT_EQ(ranks.states(0)["w"].floats, ranks.states(1)["w"].floats);
  return ranks.states(0)["w"].floats;
}

using Numbers = std::vector<double>;

} // namespace

// The sum of both, 80000, is no number of f16.
TEST(HalfReduce, DividesBeforeItRounds) {
  Ranks ranks(programOf("reduce = \"half\""), 2);
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{-40000, -2}));
  Ranks sums(programOf("reduce = \"half\", mean = false"), 2);
  EXPECT_EQ(trained(sums, {40000, 1}, {40000, 3}), (Numbers{-80000, -4}));
}

// Two of a rank's own are out of range; the step changes nothing on any rank,
// and the loss scale falls until the next one fits.
TEST(HalfReduce, SkipsAStepWhoseSumIsNotFinite) {
  Ranks ranks(programOf("reduce = \"half\"",
                        "loss_scale = {type = \"dynamic\", initial = 4.0},"),
              2);
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{0, 0}));
  EXPECT_EQ(ranks.states(1)["loss_scale"].floats[0], 2);
  EXPECT_EQ(ranks.states(1)["skipped_steps"].integers[0], 1);
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{0, 0}));
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{-40000, -2}));
  EXPECT_EQ(ranks.states(0)["skipped_steps"].integers[0], 2);
}

// A group's gradients travel in its own scale: 4 times 40000 is out of range.
TEST(HalfReduce, ScalesByTheGroupOfTheParameter) {
  Ranks ranks(programOf("reduce = \"half\"",
                        "loss_scale = {type = \"group\", groups = [[\"w\"]], "
                        "initial = [4.0], reduction = 0.5},"),
              2);
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{0, 0}));
  EXPECT_EQ(ranks.states(1)["loss_scale/0"].floats[0], 2);
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{0, 0}));
  EXPECT_EQ(trained(ranks, {40000, 1}, {40000, 3}), (Numbers{-40000, -2}));
  EXPECT_EQ(ranks.states(0)["skipped_steps"].integers[0], 2);
}

TEST(HalfReduce, BoundsARanksGradientBeforeItRounds) {
  Ranks ranks(programOf("reduce = \"half\", local_clip = 100.0"), 2);
  EXPECT_EQ(trained(ranks, {1e6, 1}, {-300, 3}), (Numbers{0, -2}));
}
