// Logical ranks have the bits of as many processes, on any number of them.

#include "cases.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::testing;

namespace {

constexpr int kLogical = 8;

/// A case whose ranks are logical ones; each has a few samples.
Case logical(Case test) {
  test.keys += ", logical_ranks = " + std::to_string(kLogical) + " : i64";
  test.batch = 2;
  return test;
}

/// Trains on a number of processes, and calls `see` with each step's outputs.
template <typename See>
std::unique_ptr<Ranks> train(const Case &test, int processes, See see) {
  auto ranks =
      std::make_unique<Ranks>(program(test, test.batch, true), processes);
  for (int step = 0; step < test.steps; ++step) {
    Inputs all = samples(test, step, test.batch * kLogical);
    std::vector<Inputs> parts;
    for (int rank = 0; rank < kLogical; ++rank)
      parts.push_back(partOf(all, rank, kLogical));
    see(step, ranks->stepInTurns(parts));
  }
  return ranks;
}

/// Whether a state tells of the processes, or of turns alone.
bool isOfProcesses(llvm::StringRef name) {
  return name.starts_with("distribution.") ||
         name.starts_with("logical_ranks/");
}

/// Compares the bits of 1, 2, 4 and 8 processes.
void expectSameBits(Case test) {
  test = logical(test);
  SCOPED_TRACE(test.recipe + test.keys);
  std::vector<Outputs> outputs;
  auto whole = train(test, kLogical, [&](int, std::vector<Outputs> found) {
    outputs.push_back(found[0]);
  });
  for (int processes : {1, 2, 4}) {
    SCOPED_TRACE(std::to_string(processes) + " processes");
    auto ranks =
        train(test, processes, [&](int step, std::vector<Outputs> found) {
          for (Outputs &own : found)
            for (const auto &[name, value] : outputs[step])
              EXPECT_EQ(own[name].floats, value.floats) << name;
        });
    for (const auto &state : whole->states(0)) {
      if (isOfProcesses(state.first()))
        continue;
      const HostTensor &found = ranks->states(processes - 1)[state.first()];
      EXPECT_EQ(found.floats, state.second.floats) << state.first().str();
      EXPECT_EQ(found.integers, state.second.integers) << state.first().str();
    }
  }
}

/// Compares them with one process that has the samples of all in one batch.
void expectExact(Case test) {
  test = logical(test);
  SCOPED_TRACE(test.recipe + test.keys);
  Ranks alone(program(test, test.batch * kLogical, false), 1);
  auto ranks = train(test, 2, [&](int step, std::vector<Outputs> found) {
    Outputs expected =
        alone.step({samples(test, step, test.batch * kLogical)})[0];
    for (const auto &[name, value] : expected)
      expectEqual(found[1][name], value, name);
  });
  for (const auto &state : alone.states(0))
    expectEqual(ranks->states(1)[state.first()], state.second,
                state.first().str());
}

void expectBoth(const Case &test) {
  expectSameBits(test);
  expectExact(test);
}

} // namespace

TEST(LogicalRanks, AreOneProcessWithTheSamplesOfAll) {
  expectBoth({kClassLoss});
  expectBoth({.recipe = "loss = {type = \"mse\"}" + kSgd, .hasValues = true});
  expectBoth({.recipe = "loss = {type = \"mse\", reduction = \"sum\"}, "
                        "optimizer = {type = \"sgd\", learning_rate = 0.01}",
              .hasValues = true});
}

// The labels that count on later ranks are not known when the first computes.
TEST(LogicalRanks, CountLabelsOfAllRanks) {
  for (std::string more : {"", ", class_weights = [1.0, 2.0, 0.5, 3.0]",
                           ", weight = 0.5", ", label_smoothing = 0.1"})
    expectBoth({.recipe = "loss = {type = \"softmax_cross_entropy\"" + more +
                          "}, metrics = [\"accuracy\", \"gradient_norm\"]" +
                          kSgd,
                .change = ignore});
  expectBoth({.recipe = "loss = {type = \"softmax_cross_entropy\", reduction = "
                        "\"sum\"}, optimizer = {type = \"sgd\", "
                        "learning_rate = 0.01}",
              .change = ignore});
}

TEST(LogicalRanks, HaveNoNumberWhereNoLabelCounts) {
  Case test = {.recipe = kClassLoss + ", metrics = [\"accuracy\"]",
               .steps = 2,
               .change = [](int step, Inputs &inputs) {
                 if (step == 1)
                   llvm::fill(inputs[1].integers, kIgnored);
               }};
  expectExact(test);
  test.recipe += ", on_nonfinite = \"skip\"";
  expectExact(test);
}

TEST(LogicalRanks, ComeBeforeMethodsOnFinalGradients) {
  expectBoth({.recipe = kClassLoss +
                        ", clip = {type = \"global_norm\", value = 0.1}, "
                        "gradient_centralization = {}, ema = {decay = 0.5}, "
                        "metrics = [\"gradient_norm\"]",
              .change = ignore});
}

// Each has its own statistics; the running ones are averaged, or the first's.
TEST(LogicalRanks, NormalizeBySamplesOfTheirOwn) {
  for (std::string kind : {"average", "local"})
    expectSameBits({.recipe = kClassLoss,
                    .keys = ", batch_norm = \"" + kind + "\"",
                    .norm = kBatchNorm});
}

TEST(LogicalRanks, SkipAllOrNone) {
  for (std::string scale :
       {"type = \"dynamic\", initial = 1000.0, growth_interval = 2",
        "type = \"group\", groups = [[\"w1\", \"scale\"], [\"w2\"]], initial "
        "= [1000.0, 16.0]"})
    expectBoth({.recipe = kClassLoss + ", loss_scale = {" + scale + "}",
                .steps = 6,
                .change = [](int step, Inputs &inputs) {
                  if (step == 1 || step == 3)
                    inputs[0].floats[5 * kFeatures] = HUGE_VAL;
                }});
}

TEST(LogicalRanks, TakeTheMeanOfEachOnesMean) {
  expectSameBits({.recipe = kClassLoss,
                  .keys = ", loss_mean = \"rank\"",
                  .change = ignore});
}

// Turns that only add up leave what a checkpoint has as it is.
TEST(LogicalRanks, ChangeNothingBeforeTheLastTurn) {
  Case test = logical({kClassLoss});
  Ranks ranks(program(test, test.batch, true), 2);
  Inputs inputs = partOf(samples(test, 0, 16), 0, 8);
  for (std::string variant : {"train_partial_0", "train_partial_1",
                              "train_partial_0", "train_final_2"}) {
    EXPECT_EQ(ranks.variant(0), variant);
    HostTensor before = ranks.states(0)["w1"];
    Outputs outputs = ranks.step({inputs, inputs})[0];
    bool isLast = variant == "train_final_2";
    EXPECT_EQ(ranks.states(0)["w1"].floats != before.floats, isLast);
    EXPECT_EQ(ranks.states(0)["step"].integers[0], isLast);
    EXPECT_EQ(outputs["loss"].floats[0] != 0, isLast);
  }
  EXPECT_EQ(ranks.variant(0), "train_partial_0");
}

TEST(LogicalRanks, HaveTheVariantsOfAllNumbersOfProcesses) {
  Case test = logical({kClassLoss});
  for (int processes : {1, 2, 4, 8}) {
    Ranks ranks(program(test, test.batch, true), processes);
    Inputs inputs = partOf(samples(test, 0, 16), 0, 8);
    std::vector<Inputs> parts(processes, inputs);
    for (int step : {0, 1})
      for (int turn = 0; turn < ranks.turns(); ++turn) {
        std::string variant = ranks.variant(0);
        bool isLast = turn == ranks.turns() - 1;
        EXPECT_EQ(variant.find("partial") == std::string::npos, isLast)
            << variant << " of " << processes << " in step " << step;
        ranks.step(parts);
      }
  }
}
