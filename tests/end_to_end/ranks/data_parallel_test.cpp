// Ranks train as one process would on the samples of all: n ranks of b samples
// each against one process with n * b.
//
// The optimizer's momentum after the first step is the gradient, so states are
// compared after it.

#include "one_process.h"

#include <cmath>

using namespace gradus;

namespace {

//===-- the mean of what ranks do alone -----------------------------------===//

NamedTensors meanOf(const std::vector<NamedTensors> &all) {
  NamedTensors mean = all.front();
  for (auto &[name, tensor] : mean)
    for (size_t i = 0; i < tensor.floats.size(); ++i) {
      double total = 0;
      for (const NamedTensors &each : all)
        total += each.at(name).floats[i];
      tensor.floats[i] = total / static_cast<double>(all.size());
    }
  return mean;
}

/// Expects each step to be the mean of steps that each rank takes from the same
/// states alone; `ofFirst` names states that are those of the first rank.
void expectMeanOfRanks(const Case &wanted,
                       const std::vector<std::string> &ofFirst, int ranks) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks");
  RankSessions group(
      artifactOf(onRanks(wanted.program, wanted.recipe, wanted.distribution)),
      ranks);
  Compiled alone(filled(wanted.program, kSamples, wanted.recipe), oneThread());
  const runtime::GraphInfo &train =
      alone.session().graphs()[alone.session().findGraph("train")];
  Limits limits = limitsOf(wanted, ranks);
  Gaps gaps;
  for (int step = 0; step < wanted.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    NamedTensors batch = batchOf(alone, step, ranks), start = alone.states();
    if (wanted.change)
      wanted.change(batch, step, ranks);
    std::vector<NamedTensors> outputs, states;
    for (int rank = 0; rank < ranks; ++rank) {
      for (auto &[name, value] : start)
        alone.setState(name, group.on(0).states().at(name));
      outputs.push_back(alone.run("train", partOf(batch, train, rank)));
      states.push_back(alone.states());
    }
    NamedTensors expected = meanOf(states);
    for (const std::string &name : ofFirst)
      expected[name] = states.front()[name];
    for (const NamedTensors &found : group.run("train", batch))
      expectGap(found, meanOf(outputs), limits.losses, gaps.losses);
    expectGap(group.on(0).states(), expected, limits.gradients, gaps.gradients);
  }
  gaps.record(ranks);
  group.expectReplicas();
}

void expectMeanOfRanks(const Case &wanted,
                       const std::vector<std::string> &ofFirst = {}) {
  for (int ranks : ranksToTest())
    expectMeanOfRanks(wanted, ofFirst, ranks);
}

const std::string kMetrics = ", metrics = [\"accuracy\", \"top5\", "
                             "\"gradient_norm\", \"learning_rate\"]";

} // namespace

//===-- losses ------------------------------------------------------------===//

TEST(DataParallel, TrainsAsOneProcess) {
  expectOneProcess({.recipe = kCrossEntropy + kKeepAll + kMetrics});
}

TEST(DataParallel, DividesByTheLabelsThatCountOnAllRanks) {
  expectOneProcess({.recipe = kCrossEntropy + kKeepAll + kMetrics,
                    .change = ignoreUnequally});
}

TEST(DataParallel, WeighsTheLabelsOfAllRanks) {
  expectOneProcess(
      {.recipe = "loss = {type = \"softmax_cross_entropy\", class_weights = "
                 "[0.5, 1.0, 2.0, 0.25, 1.0, 3.0, 1.0, 0.125, 1.0, 4.0], "
                 "label_smoothing = 0.1}" +
                 kKeepAll,
       .change = ignoreUnequally});
}

TEST(DataParallel, SmoothsTheLabelsOfAllRanks) {
  expectOneProcess({.recipe = "loss = {type = \"softmax_cross_entropy\", "
                              "label_smoothing = 0.1, ignore_index = 3 : i64}" +
                              kKeepAll});
}

TEST(DataParallel, AddsUpTheLossesOfAllRanks) {
  expectOneProcess({.recipe = "loss = {type = \"softmax_cross_entropy\", "
                              "reduction = \"sum\", weight = 0.1}" +
                              kKeepAll + kMetrics,
                    .change = ignoreUnequally});
}

TEST(DataParallel, AddsLossesOfSeveralKinds) {
  expectOneProcess(
      {.recipe = "loss = {type = \"sum\", of = [{type = "
                 "\"softmax_cross_entropy\"}, {type = \"mse\", label = \"y\", "
                 "weight = 0.5}, {type = \"l1\", label = \"y\", reduction = "
                 "\"sum\", weight = 0.01}]}" +
                 kKeepAll,
       .change = ignoreUnequally});
}

TEST(DataParallel, MasksTheEndOfTheLastBatch) {
  expectOneProcess({.recipe = kCrossEntropy + kMetrics,
                    .change = [](NamedTensors &batch, int step, int ranks) {
                      if (step % 4 == 3)
                        ignore(batch, 3, kSamples * ranks);
                    }});
}

TEST(DataParallel, MayTakeTheMeanOfTheMeansOfRanks) {
  expectMeanOfRanks({.recipe = kCrossEntropy + kKeepAll,
                     .distribution = ", loss_mean = \"rank\"",
                     .change = [](NamedTensors &batch, int,
                                  int) { ignore(batch, 1, kSamples); },
                     .steps = 3});
}

//===-- layers ------------------------------------------------------------===//

TEST(DataParallel, DropsWhatOneProcessDrops) {
  expectOneProcess({.recipe = kCrossEntropy});
}

TEST(DataParallel, DropsOfAttentionWhatOneProcessDrops) {
  expectOneProcess({.program = kAttending, .recipe = kCrossEntropy});
}

TEST(DataParallel, NormalizesByTheSamplesOfAllRanks) {
  expectOneProcess({.program = kNormalized,
                    .recipe = kCrossEntropy,
                    .distribution = ", batch_norm = \"synchronized\""});
}

TEST(DataParallel, AveragesRunningStatistics) {
  expectMeanOfRanks(
      {.program = kNormalized, .recipe = kCrossEntropy, .steps = 3});
}

TEST(DataParallel, KeepsTheRunningStatisticsOfTheFirstRank) {
  expectMeanOfRanks({.program = kNormalized,
                     .recipe = kCrossEntropy,
                     .distribution = ", batch_norm = \"local\"",
                     .steps = 3},
                    {"mean", "variance"});
}

//===-- methods -----------------------------------------------------------===//

TEST(DataParallel, AccumulatesMeansOfMeans) {
  expectOneProcess({.recipe = kCrossEntropy + ", accumulation = 3 : i64",
                    .change = ignoreUnequally,
                    .firstUpdate = 2});
}

TEST(DataParallel, ScalesGroupsAsOneProcessDoes) {
  expectOneProcess(
      {.recipe = kCrossEntropy + kKeepAll +
                 ", loss_scale = {type = \"group\", groups = "
                 "[[\"v\", \"a\"], [\"w\", \"b\"]], initial = [16.0], "
                 "maximum = 64.0, growth = 1.25}",
       .change = overflow});
}

TEST(DataParallel, FreezesWhatOneProcessFreezes) {
  expectOneProcess({.recipe = kCrossEntropy +
                              ", gradient_freeze = {groups = 2 : i64, p = 0.5, "
                              "total_steps = 20 : i64}"});
}

TEST(DataParallel, ClipsWhatAllRanksHaveAddedUp) {
  expectOneProcess(
      {.recipe = kCrossEntropy + kMetrics +
                 ", clip = {type = \"global_norm\", value = 0.1}"});
}

TEST(DataParallel, AveragesWhatAllRanksLearn) {
  expectOneProcess({.recipe = kCrossEntropy + ", ema = {decay = 0.9}"});
}

/// Momentum is read before it is written, whenever its gradient arrives.
TEST(DataParallel, LooksAheadAlongTheMomentumOnASchedule) {
  expectOneProcess(
      {.recipe = "optimizer = {type = \"sgd\", learning_rate = 0.1, momentum = "
                 "0.9, nesterov = true, weight_decay = 0.01}, schedule = "
                 "{learning_rate = [{type = \"list\", values = [1.0, 0.5, "
                 "0.25]}]}, " +
                 kCrossEntropy,
       .distribution = ", bucket_bytes = 64 : i64"});
}

const std::string kDynamicScale = ", loss_scale = {type = \"dynamic\", initial "
                                  "= 1024.0, growth_interval = 3 : i64}";

TEST(DataParallel, SkipsAStepOnAllRanks) {
  auto states = expectOneProcess(
      {.recipe = kCrossEntropy + kMetrics + kDynamicScale, .change = overflow});
  EXPECT_EQ(states.at("skipped_steps").integers[0], 4);
}

TEST(DataParallel, SkipsAMicroBatchOnAllRanks) {
  auto states = expectOneProcess(
      {.recipe = kCrossEntropy + ", accumulation = 3 : i64" + kDynamicScale,
       .change = overflow,
       .firstUpdate = 3}); // The third batch is skipped.
  EXPECT_EQ(states.at("skipped_steps").integers[0], 4);
}

TEST(DataParallel, RoundsAsOneProcess) {
  for (const char *program : {kDense, kAttending})
    expectOneProcess({.program = program,
                      .recipe = kCrossEntropy + ", precision = \"bf16\"",
                      .isNarrow = true});
}
