// What a compiled step drops: the ratio, other elements each step, and nothing
// outside training. That gradients go the same way is in programs_test.cpp.

#include "compiled.h"

using namespace gradus;

namespace {

constexpr int64_t kRows = 40, kColumns = 1003;

std::string program(const std::string &recipe) {
  return "gradus.program @p attributes {recipe = {optimizer = {type = \"sgd\", "
         "learning_rate = 0.0}" +
         recipe + R"(}} {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<40x1003xf32>) -> (y: tensor<40x1003xf32>) {
    %y = gradus.dropout %x ratio 0.25 : tensor<40x1003xf32>
    gradus.return %y : tensor<40x1003xf32>
  }
  gradus.graph @train(%x: tensor<40x1003xf32>, %g: tensor<2xf32>) -> (y: tensor<40x1003xf32>, z: tensor<40x1003xf32>) {
    %y = gradus.dropout %x ratio 0.25 : tensor<40x1003xf32>
    %z = gradus.dropout %x ratio 0.25 : tensor<40x1003xf32>
    gradus.update @w, %g : tensor<2xf32>
    gradus.return %y, %z : tensor<40x1003xf32>, tensor<40x1003xf32>
  }
})";
}

NamedTensors inputs() {
  HostTensor x = zeros({kRows, kColumns});
  std::fill(x.floats.begin(), x.floats.end(), 3);
  return {{"x", x}, {"g", zeros(llvm::ArrayRef<int64_t>{2})}};
}

std::vector<double> dropped(const std::string &recipe, int64_t threads = 1,
                            int steps = 1) {
  runtime::SessionOptions options;
  options.threads = threads;
  Compiled compiled(program(recipe), options);
  for (int step = 1; step < steps; ++step)
    compiled.run("train", inputs());
  return compiled.run("train", inputs()).at("y").floats;
}

} // namespace

TEST(Dropout, DropsItsRatioAndMakesTheRestLarger) {
  auto values = dropped("");
  double zeros = std::count(values.begin(), values.end(), 0),
         fours = std::count(values.begin(), values.end(), 4);
  EXPECT_EQ(zeros + fours, kRows * kColumns);
  EXPECT_NEAR(zeros / values.size(), 0.25, 0.01); // five deviations
}

TEST(Dropout, DropsOtherElementsByStepSeedAndPlaceInTheModel) {
  auto values = dropped("");
  EXPECT_EQ(values, dropped("", /*threads=*/3));
  EXPECT_NE(values, dropped("", 1, /*steps=*/2));
  EXPECT_NE(values, dropped(", seed = 1 : i64"));
  Compiled compiled(program(""));
  auto both = compiled.run("train", inputs());
  EXPECT_NE(both.at("y").floats, both.at("z").floats);
}

TEST(Dropout, DropsWhatTheEvaluatorDrops) {
  Evaluated evaluated(program(""));
  Compiled compiled(program(""));
  for (int step = 0; step < 2; ++step)
    expectNear(compiled.run("train", inputs()),
               evaluated.run("train", inputs()), 1e-6, 0);
}

TEST(Dropout, IsNothingInPredictionOrWhereTheRecipeSaysSo) {
  Compiled compiled(program(""));
  NamedTensors x = {{"x", inputs().at("x")}};
  EXPECT_EQ(compiled.run("predict", x).at("y").floats, x.at("x").floats);
  EXPECT_EQ(dropped(", dropout = 0.0"), x.at("x").floats);
}

//===-- attention ---------------------------------------------------------===//

namespace {

/// A model with attention in small ops, which the pipeline recognizes; or with
/// the probabilities given away, so that it cannot.
std::string attending(bool asked) {
  std::string more = asked ? ", p: tensor<2x3x40x50xf32>" : "",
              also = asked ? ", %2" : "",
              type = asked ? ", tensor<2x3x40x50xf32>" : "";
  return R"(gradus.program @p attributes {recipe = {optimizer = {type = "sgd", learning_rate = 0.0}, loss = {type = "mse", output = "y"}, seed = 5}} {
  gradus.state @k : tensor<2x3x50x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%q: tensor<2x3x40x16xf32>) -> (y: tensor<2x3x40x16xf32>)" +
         more + R"() {
    %k = gradus.read @k : tensor<2x3x50x16xf32>
    %0 = gradus.matmul %q, %k transposed : tensor<2x3x40x16xf32>, tensor<2x3x50x16xf32> -> tensor<2x3x40x50xf32>
    %1 = gradus.softmax %0 axis 3 : tensor<2x3x40x50xf32>
    %2 = gradus.dropout %1 ratio 0.3 : tensor<2x3x40x50xf32>
    %y = gradus.matmul %2, %k : tensor<2x3x40x50xf32>, tensor<2x3x50x16xf32> -> tensor<2x3x40x16xf32>
    gradus.return %y)" +
         also + R"( : tensor<2x3x40x16xf32>)" + type + "\n  }\n}";
}

double lossOf(bool asked, const HostTensor &k, int steps) {
  Compiled compiled(attending(asked));
  compiled.setState("k", k);
  auto type = [&](llvm::ArrayRef<int64_t> shape) { return zeros(shape); };
  HostTensor q = type({2, 3, 40, 16}), label = type({2, 3, 40, 16});
  for (auto [i, number] : llvm::enumerate(q.floats))
    number = std::sin(0.7 * i);
  double loss = 0;
  for (int step = 0; step < steps; ++step)
    loss = compiled.run("train", {{"q", q}, {"label", label}})
               .at("loss")
               .floats[0];
  return loss;
}

} // namespace

TEST(Dropout, DropsTheSameProbabilitiesOfAttentionAsOneOp) {
  HostTensor k = zeros({2, 3, 50, 16});
  for (auto [i, number] : llvm::enumerate(k.floats))
    number = std::cos(0.3 * i);
  for (int steps : {1, 2})
    EXPECT_NEAR(lossOf(false, k, steps), lossOf(true, k, steps), 1e-6);
  EXPECT_GT(std::fabs(lossOf(false, k, 1) - lossOf(false, k, 2)), 1e-5);
}
