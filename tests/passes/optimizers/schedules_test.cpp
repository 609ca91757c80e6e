#include "passes/optimizers/schedules.h"

#include "tests/passes/program_text.h"

#include <cmath>

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

static std::string programWith(const std::string &recipe) {
  return "gradus.program @p attributes {recipe = {" + recipe + R"(}} {
  gradus.graph @g(%step: tensor<f64>) {
    gradus.return
  }
})";
}

/// The factor at a step under a schedule, by the evaluator.
static double factorAt(const char *schedule, double at,
                       std::string before = "schedule = {learning_rate = ") {
  PassText source(programWith(before + schedule + "}"));
  GraphOp graph = source.program().getGraph("g");
  OpBuilder builder(graph.getBody().front().getTerminator());
  Value step = graph.getBody().getArgument(0);
  Arithmetic math(builder, graph.getLoc());
  auto schedules = Schedules::read(math, source.program(), step);
  EXPECT_TRUE(succeeded(schedules)) << source.messages;
  Value factor = schedules->factorOf("learning_rate");
  graph.addOutput("factor", factor ? factor : math.number(1, step));
  HostTensor input = zeros(ArrayRef<int64_t>{});
  input.floats[0] = at;
  StateMap states;
  auto results = evaluateGraph(graph, input, states);
  EXPECT_TRUE(succeeded(results)) << source.messages;
  return (*results)[0].floats[0];
}

/// What is said of a recipe's schedules.
static std::string messagesOf(const std::string &recipe) {
  PassText source(programWith(recipe));
  GraphOp graph = source.program().getGraph("g");
  OpBuilder builder(graph.getBody().front().getTerminator());
  (void)Schedules::read(Arithmetic(builder, graph.getLoc()), source.program(),
                        graph.getBody().getArgument(0));
  return source.messages;
}

TEST(Schedules, WarmsUpThenFallsAsACosine) {
  const char *schedule = R"([{type = "linear_warmup", steps = 4 : i64},
                             {type = "cosine", steps = 10 : i64, final = 1.0e-1}])";
  EXPECT_DOUBLE_EQ(factorAt(schedule, 0), 0.25);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 3), 1);
  EXPECT_NEAR(factorAt(schedule, 9), 0.1 + 0.9 * (1 + std::cos(M_PI / 2)) / 2,
              1e-12);
  EXPECT_NEAR(factorAt(schedule, 14), 0.1, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 1000), 0.1, 1e-12);
}

TEST(Schedules, IsConstantWithoutASchedule) { EXPECT_EQ(factorAt("[]", 5), 1); }

TEST(Schedules, FallsInSteps) {
  const char *steps = R"([{type = "step", period = 3 : i64, rate = 0.5}])";
  EXPECT_DOUBLE_EQ(factorAt(steps, 2), 1);
  EXPECT_DOUBLE_EQ(factorAt(steps, 3), 0.5);
  EXPECT_DOUBLE_EQ(factorAt(steps, 6), 0.25);
  const char *milestones =
      R"([{type = "multi_step", milestones = [2 : i64, 5 : i64], rate = 0.1}])";
  EXPECT_DOUBLE_EQ(factorAt(milestones, 1), 1);
  EXPECT_DOUBLE_EQ(factorAt(milestones, 2), 0.1);
  EXPECT_NEAR(factorAt(milestones, 5), 0.01, 1e-15);
}

TEST(Schedules, DecaysSmoothlyOrInAStaircase) {
  EXPECT_NEAR(
      factorAt(R"([{type = "exponential", rate = 0.25, period = 2.0}])", 1),
      0.5, 1e-12);
  EXPECT_EQ(factorAt(R"([{type = "exponential", rate = 0.25, period = 2.0,
                          staircase = true}])",
                     1),
            1);
  EXPECT_NEAR(factorAt(R"([{type = "natural_exponential", rate = 0.5}])", 3),
              std::exp(-1.5), 1e-12);
  EXPECT_NEAR(factorAt(R"([{type = "inverse_time", rate = 0.5}])", 2), 0.5,
              1e-12);
  EXPECT_NEAR(factorAt(R"([{type = "polynomial", steps = 4 : i64, power = 2.0,
                            final = 0.0}])",
                       2),
              0.25, 1e-12);
}

TEST(Schedules, RestartsAtGrowingDistances) {
  const char *schedule =
      R"([{type = "cosine_restarts", period = 3.0, growth = 2.0}])";
  for (double start : {0, 3, 9, 21, 45})
    EXPECT_NEAR(factorAt(schedule, start), 1, 1e-9) << start;
  // The last step of the half wave of 12 that ends at 21.
  EXPECT_NEAR(factorAt(schedule, 20), (1 + std::cos(M_PI * 11 / 12)) / 2,
              1e-12);
  EXPECT_NEAR(factorAt(schedule, 6), 0.5, 1e-12);
}

TEST(Schedules, ReadsListsAndPieces) {
  const char *list = R"([{type = "list", values = [1.0, 0.5, 0.25]}])";
  EXPECT_EQ(factorAt(list, 1), 0.5);
  EXPECT_EQ(factorAt(list, 7), 0.25);
  const char *pieces = R"([{type = "piecewise", milestones = [2 : i64, 4 : i64],
                            values = [1.0, 0.5, 0.25]}])";
  EXPECT_EQ(factorAt(pieces, 1), 1);
  EXPECT_EQ(factorAt(pieces, 3), 0.5);
  EXPECT_EQ(factorAt(pieces, 9), 0.25);
}

TEST(Schedules, FollowsTheLengthOfTheRun) {
  // 40 updates in 4 epochs.
  auto at = [](const char *pieces, double step) {
    return factorAt(pieces, step,
                    "settable = false, schedule = {updates = 40.0, "
                    "updates_per_epoch = 10.0, learning_rate = ");
  };
  const char *trapeze = R"([{type = "linear_warmup", epochs = 1.0},
      {type = "constant", rest = true}, {type = "linear", fraction = 0.25}])";
  EXPECT_DOUBLE_EQ(at(trapeze, 4), 0.5);
  EXPECT_DOUBLE_EQ(at(trapeze, 10), 1);
  EXPECT_DOUBLE_EQ(at(trapeze, 30), 1);
  EXPECT_DOUBLE_EQ(at(trapeze, 35), 0.5);
  EXPECT_DOUBLE_EQ(at(trapeze, 99), 0);
  const char *stairs =
      R"([{type = "step", period = 2.0, rate = 0.5, interval = "epoch"}])";
  EXPECT_DOUBLE_EQ(at(stairs, 19), 1);
  EXPECT_DOUBLE_EQ(at(stairs, 20), 0.5);
  const char *smooth = R"([{type = "exponential", rate = 0.25,
                            interval = "smooth_epoch"}])";
  EXPECT_DOUBLE_EQ(at(smooth, 5), 0.5);
  EXPECT_DOUBLE_EQ(at(R"([{type = "linear_warmup", epochs = 2.0,
                            interval = "smooth_epoch"}])",
                      4),
                   0.25);
  const char *list = R"([{type = "list", values = [1.0, 0.5, 0.25],
                          epochs = 1.5, interval = "smooth_epoch"}])";
  EXPECT_EQ(at(list, 5), 1);
  EXPECT_EQ(at(list, 14), 0.5);
  EXPECT_EQ(at(list, 39), 0.5) << "held at its end, in the second epoch";
  const char *restarts = R"([{type = "cosine_restarts", period = 2.0,
                              interval = "smooth_epoch"}])";
  EXPECT_NEAR(at(restarts, 19), (1 + std::cos(M_PI * 0.95)) / 2, 1e-12);
  EXPECT_NEAR(at(restarts, 20), 1, 1e-12);
  const char *smooth1 = R"([{type = "one_cycle", rest = true, rise = 0.5,
      initial = 0.1, final = 0.01, shape = "linear",
      interval = "smooth_epoch"}])";
  EXPECT_NEAR(at(smooth1, 0), 0.1, 1e-12);
  EXPECT_NEAR(at(smooth1, 19), 1, 1e-12);
  EXPECT_NEAR(at(smooth1, 39), 0.01, 1e-12);
  const char *cycle = R"([{type = "one_cycle", rest = true, rise = 0.5,
      initial = 0.1, final = 0.01, shape = "linear"}])";
  EXPECT_NEAR(at(cycle, 19), 1, 1e-12);
  EXPECT_NEAR(at(cycle, 39), 0.01, 1e-12);
}

TEST(Schedules, BeginsEpochsOnTimeWhereUpdatesDoNotDivideThem) {
  // 7 batches an epoch, 3 of them an update: 15 epochs are 35 updates.
  const char *schedule = R"([{type = "multi_step", milestones = [15.0],
                              rate = 0.5, interval = "epoch"}])";
  std::string recipe = "settable = false, schedule = {updates = 100.0, "
                       "updates_per_epoch = " +
                       std::string("2.3333333333333335") + ", learning_rate = ";
  EXPECT_EQ(factorAt(schedule, 34, recipe), 1);
  EXPECT_EQ(factorAt(schedule, 35, recipe), 0.5);
}

TEST(Schedules, CountsEpochsAsSteps) {
  const char *schedule =
      R"([{type = "linear", steps = 4 : i64, every = 10 : i64, final = 0.0}])";
  EXPECT_EQ(factorAt(schedule, 19), 0.75);
  EXPECT_EQ(factorAt(schedule, 20), 0.5);
  EXPECT_EQ(factorAt(schedule, 100), 0);
}

TEST(Schedules, GoesThroughOneCycle) {
  const char *schedule = R"([{type = "one_cycle", steps = 11 : i64, rise = 0.5,
                              initial = 0.1, final = 0.01, shape = "linear"}])";
  EXPECT_NEAR(factorAt(schedule, 0), 0.1, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 4.5), 1, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 10), 0.01, 1e-12);
}

TEST(Schedules, GoesThroughThreePhases) {
  const char *schedule =
      R"([{type = "one_cycle", steps = 11 : i64, rise = 0.4, initial = 0.1,
           final = 0.01, shape = "linear", three_phase = true}])";
  // Up to step 3.4, back at step 6.8, on to step 10.
  EXPECT_NEAR(factorAt(schedule, 3.4), 1, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 5.1), 0.55, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 6.8), 0.1, 1e-12);
  EXPECT_NEAR(factorAt(schedule, 10), 0.01, 1e-12);
}

TEST(Schedules, StartsAtTheTopWhereNoStepRises) {
  const char *schedule =
      R"([{type = "one_cycle", steps = 10 : i64, rise = 0.1, initial = 0.1,
           final = 0.0, shape = "linear"}])";
  EXPECT_EQ(factorAt(schedule, 0), 1);
  EXPECT_NEAR(factorAt(schedule, 9), 0, 1e-12);
}

TEST(Schedules, RefusesPiecesThatDoNotFitTheirMilestones) {
  auto messages = [](const char *keys) {
    return messagesOf(std::string("schedule = {learning_rate = [{type = "
                                  "\"piecewise\", ") +
                      keys + "}]}");
  };
  EXPECT_EQ(messages("milestones = [2], values = [1.0, 0.5]"), "");
  EXPECT_NE(messages("milestones = [2, 4, 6], values = [1.0, 0.5]")
                .find("milestones has 3 numbers for the 2 of values, expected "
                      "as many or one less"),
            std::string::npos);
  EXPECT_NE(messages("milestones = [4, 2], values = [1.0, 0.5]")
                .find("milestones is not in ascending order"),
            std::string::npos);
}

TEST(Schedules, GoUpAndDownAgainAndAgain) {
  const char *schedule = R"([{type = "cyclic", rise = 2.0, fall = 4.0,
                              low = 2.0e-1, high = 1.0, halve = true}])";
  EXPECT_DOUBLE_EQ(factorAt(schedule, 0), 0.2);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 1), 0.6);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 2), 1);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 4), 0.6);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 6), 0.2);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 8), 0.6);
}

TEST(Schedules, RunSideBySide) {
  const char *schedule = R"([{type = "product", factors = [
      {type = "linear", steps = 2 : i64, initial = 5.0e-1, final = 1.0},
      {type = "exponential", rate = 5.0e-1}]}])";
  EXPECT_DOUBLE_EQ(factorAt(schedule, 0), 0.5);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 1), 0.375);
  EXPECT_DOUBLE_EQ(factorAt(schedule, 3), 0.125);
}
