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

TEST(Methods, TakeTheLearningRateFromAState) {
  Compiled compiled(
      program("schedule = {learning_rate = [{type = \"state\"}]}"));
  EXPECT_EQ(after(compiled, {1}), (std::vector<double>{-1}));
  HostTensor rate = zeros(llvm::ArrayRef<int64_t>{});
  rate.floats[0] = 0.25;
  compiled.setState("learning_rate", rate);
  EXPECT_EQ(after(compiled, {1}), (std::vector<double>{-1.25}));
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
