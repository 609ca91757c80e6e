// Methods of training together, through compiled graphs.

#include "compiled.h"

#include <cmath>

using namespace gradus;

/// One parameter that starts at 0 and moves by plain descent at rate 1.
static std::string program(const std::string &recipe) {
  return "gradus.program @p attributes {recipe = {optimizer = {type = \"sgd\", "
         "learning_rate = 1.0}, " +
         recipe + R"(}} {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<2xf32>) {
    gradus.update @w, %g : tensor<2xf32>
    gradus.return
  }
})";
}

/// The parameter's first element after each of these gradients.
static std::vector<double> after(Compiled &compiled,
                                 const std::vector<double> &gradients) {
  std::vector<double> values;
  for (double gradient : gradients) {
    HostTensor input = zeros(llvm::ArrayRef<int64_t>{2});
    input.floats = {gradient, 2 * gradient};
    compiled.run("train", {{"g", input}});
    values.push_back(compiled.states().at("w").floats[0]);
  }
  return values;
}

TEST(Methods, UpdateWithTheMeanOfSeveralBatches) {
  Compiled compiled(program("accumulation = 2 : i64"));
  EXPECT_EQ(after(compiled, {4, 0, 2, 6}),
            (std::vector<double>{0, -2, -2, -6}));
}

TEST(Methods, WaitForAnotherBatchAfterAnOverflow) {
  Compiled compiled(program("accumulation = 3 : i64, on_nonfinite = \"skip\""));
  EXPECT_EQ(after(compiled, {3, INFINITY, 3, 3, 6, 6, 6}),
            (std::vector<double>{0, 0, 0, -3, -3, -3, -9}));
  EXPECT_EQ(compiled.states().at("step").integers[0], 7);
  EXPECT_EQ(compiled.states().at("accepted_steps").integers[0], 6);
  EXPECT_EQ(compiled.states().at("skipped_steps").integers[0], 1);
}

TEST(Methods, CountUpdatesForTheSchedule) {
  Compiled compiled(program(
      "accumulation = 2 : i64, "
      "schedule = {learning_rate = [{type = \"list\", values = [1.0, 0.5]}]}"));
  EXPECT_EQ(after(compiled, {2, 2, 2, 2}),
            (std::vector<double>{0, -2, -2, -3}));
}

TEST(Methods, LeaveTheScheduleWhereItIsWhenAStepIsSkipped) {
  Compiled compiled(program(
      "on_nonfinite = \"skip\", "
      "schedule = {learning_rate = [{type = \"list\", values = [1.0, 0.5]}]}"));
  EXPECT_EQ(after(compiled, {1, NAN, 1}), (std::vector<double>{-1, -1, -1.5}));
}

TEST(Methods, TakeTheLearningRateThatWasSet) {
  Compiled compiled(program("seed = 1 : i64"));
  EXPECT_EQ(after(compiled, {1}), (std::vector<double>{-1}));
  HostTensor rate = zeros(llvm::ArrayRef<int64_t>{});
  rate.floats[0] = 0.25;
  compiled.setState("optimizer.learning_rate", rate);
  EXPECT_EQ(after(compiled, {1}), (std::vector<double>{-1.25}));
}

TEST(Methods, LeaveParametersOfRateZeroAlone) {
  Compiled compiled(
      program("groups = [{match = [\"w\"], learning_rate_factor = 0.0, "
              "optimizer = {type = \"lion\", weight_decay = 0.5, "
              "corrected_weight_decay = true}}]"));
  EXPECT_EQ(after(compiled, {1, 1}), (std::vector<double>{0, 0}));
}

/// The average after updates to each of these values of a parameter.
static double warmedUp(const std::vector<double> &values, double decay) {
  double average = values.front();
  for (size_t n = 2; n <= values.size(); ++n) {
    double warm = std::min(decay, (1.0 + n) / (10.0 + n));
    average = warm * average + (1 - warm) * values[n - 1];
  }
  return average;
}

TEST(Methods, LetAveragesFollowSoonerAtFirst) {
  for (double decay : {0.999, 0.3}) { // (1 + 3) / (10 + 3) is more than 0.3
    Compiled compiled(program("ema = {decay = " + std::to_string(decay) +
                              ", warmup = true}"));
    std::vector<double> values = after(compiled, {-4, -4, 2, 1, -8, 3});
    EXPECT_NEAR(compiled.states().at("ema/average/w").floats[0],
                warmedUp(values, decay), 1e-6);
  }
  Compiled compiled(program("ema = {decay = 0.999, warmup = true}"));
  after(compiled, {-4, -4}); // to 4 and 8, of which a quarter and the rest
  EXPECT_EQ(compiled.states().at("ema/average/w").floats[0], 7);
}

TEST(Methods, AverageWhatTheOptimizerWrote) {
  Compiled compiled(program("ema = {decay = 0.75}"));
  after(compiled, {-4, -4});
  EXPECT_EQ(compiled.states().at("ema/average/w").floats[0], 5);
}

TEST(Methods, ClipBeforeTheyDecay) {
  Compiled compiled(
      program("clip = {type = \"value\", value = 1.0}, "
              "groups = [{match = [\"w\"], weight_decay = 0.5}]"));
  EXPECT_EQ(after(compiled, {-4, 0}), (std::vector<double>{1, 0.5}));
}

/// The scalars that a step gives for one gradient, (g, 2 g).
static NamedTensors outputsOf(Compiled &compiled, double gradient) {
  HostTensor input = zeros(llvm::ArrayRef<int64_t>{2});
  input.floats = {gradient, 2 * gradient};
  return compiled.run("train", {{"g", input}});
}

TEST(StepMetrics, TellTheNormBeforeClippingAndTheRateOfThisStep) {
  Compiled compiled(program(
      "metrics = [\"gradient_norm\", \"learning_rate\"], "
      "clip = {type = \"global_norm\", value = 1.0}, "
      "schedule = {learning_rate = [{type = \"list\", values = [1.0, 0.5]}]}"));
  NamedTensors first = outputsOf(compiled, 3), second = outputsOf(compiled, 1);
  EXPECT_NEAR(first.at("gradient_norm").floats[0], 3 * std::sqrt(5), 1e-5);
  EXPECT_EQ(first.at("learning_rate").floats[0], 1);
  EXPECT_NEAR(second.at("gradient_norm").floats[0], std::sqrt(5), 1e-6);
  EXPECT_EQ(second.at("learning_rate").floats[0], 0.5);
}

TEST(StepMetrics, TellTheNormOfWhatWasAddedUp) {
  Compiled compiled(
      program("metrics = [\"gradient_norm\"], accumulation = 2 : i64"));
  double root = std::sqrt(5);
  for (auto [gradient, norm] : {std::pair{2.0, 1.0}, {6.0, 4.0}, {4.0, 2.0}})
    EXPECT_NEAR(outputsOf(compiled, gradient).at("gradient_norm").floats[0],
                norm * root, 1e-5);
}

TEST(StepMetrics, TellTheLossScaleAndWhatWasSkipped) {
  Compiled compiled(program("loss_scale = {type = \"dynamic\", initial = 8.0, "
                            "growth_interval = 2 : i64}"));
  std::vector<double> scales, skipped;
  for (double gradient : std::vector<double>{1, INFINITY, 1, 1, 1}) {
    NamedTensors outputs = outputsOf(compiled, gradient);
    scales.push_back(outputs.at("loss_scale").floats[0]);
    skipped.push_back(outputs.at("skipped_steps").integers[0]);
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 8, 4, 4, 8}));
  EXPECT_EQ(skipped, (std::vector<double>{0, 1, 1, 1, 1}));
}

TEST(AveragedWeights, AreTheParametersBeforeTheFirstUpdate) {
  std::string text = program("ema = {decay = 0.5}, accumulation = 2 : i64");
  text.insert(text.rfind('}'), R"(
  gradus.graph @evaluate() -> (w: tensor<2xf32>) {
    %w = gradus.read @w : tensor<2xf32>
    gradus.return %w : tensor<2xf32>
  }
)");
  Compiled compiled(text);
  HostTensor start = zeros(llvm::ArrayRef<int64_t>{2});
  start.floats = {5, 7};
  compiled.setState("w", start);
  auto averaged = [&] {
    return compiled.run("evaluate_ema", {}).at("w").floats[0];
  };
  EXPECT_EQ(averaged(), 5);
  outputsOf(compiled, 2);
  EXPECT_EQ(averaged(), 5) << "nothing but a sum yet";
  outputsOf(compiled, 2);
  EXPECT_EQ(averaged(), 3) << "the parameter after the first update";
  after(compiled, {2, 2});
  EXPECT_EQ(averaged(), 2) << "halfway from 3 to 1";
}
