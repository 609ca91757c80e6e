// Ranks train as one process would on the samples of all: n ranks of b samples
// each against one process with n * b.
//
// The optimizer's momentum after the first step is the gradient, so states are
// compared after it.

#include "programs.h"
#include "sessions.h"

#include <cmath>

using namespace gradus;

namespace {

//===-- comparison --------------------------------------------------------===//

/// One training, on ranks and in one process.
struct Case {
  const char *program = kDense;
  std::string recipe = kCrossEntropy + kKeepAll; // besides the optimizer
  std::string distribution = {};                 // besides the mode
  /// Changes the samples of all ranks before a step.
  std::function<void(NamedTensors &batch, int step, int ranks)> change = {};
  int steps = 20;
  int firstUpdate = 0;   // the step in which the first gradients are used
  bool isNarrow = false; // bf16
};

/// Bounds of gaps, as parts of the largest number of a tensor.
struct Limits {
  double gradients = 1e-6;             // of the first update
  double losses = 1e-5, states = 1e-5; // of all steps, at the end
};

/// A rank divides the gradients of its samples by other numbers than one
/// process. In bf16 what is rounded off then differs, unless the numbers differ
/// by a power of two: half of a last bit, in each of up to three layers. What
/// is summed up over steps is compared by the losses alone, as a number may
/// fall to the other side of a ReLU's zero.
Limits limitsOf(const Case &wanted, int ranks) {
  if (!wanted.isNarrow || (ranks & (ranks - 1)) == 0)
    return {};
  double half = 0x1p-9;
  return {3 * half, 3 * half, INFINITY};
}

double number(const HostTensor &tensor, int64_t index) {
  return tensor.isFloat ? tensor.floats[index]
                        : static_cast<double>(tensor.integers[index]);
}

/// The largest difference, as a part of the largest number that is expected.
double gapOf(const HostTensor &found, const HostTensor &expected) {
  double largest = 0, gap = 0;
  if (found.size() != expected.size())
    return INFINITY;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double have = number(found, i), want = number(expected, i);
    if (std::isnan(have) && std::isnan(want))
      continue;
    largest = std::max(largest, std::fabs(want));
    // Not std::max, which would lose a NaN.
    gap = std::fabs(have - want) <= gap ? gap : std::fabs(have - want);
  }
  return gap == 0 ? 0 : gap / largest;
}

/// Whether a state has the sum of a rank's own gradients.
bool isOwn(llvm::StringRef name) {
  return name.starts_with("accumulation/gradient/");
}

/// The largest gaps, which the test's report keeps.
struct Gaps {
  double gradients = 0, losses = 0, states = 0;

  void record(int ranks) const {
    for (auto [name, gap] : {std::pair{"gradients", gradients},
                             {"losses", losses},
                             {"states", states}})
      testing::Test::RecordProperty(
          std::string(name) + "_on_" + std::to_string(ranks),
          std::to_string(std::lround(gap * 1e9)) + "e-9");
  }
};

/// Expects the numbers of `expected`, each with a gap of at most `limit`;
/// raises the largest gap.
void expectGap(const NamedTensors &found, const NamedTensors &expected,
               double limit, double &largest) {
  for (const auto &[name, want] : expected) {
    if (isOwn(name))
      continue;
    ASSERT_TRUE(found.count(name)) << name;
    double gap = gapOf(found.at(name), want);
    EXPECT_LE(gap, want.isFloat ? limit : 0)
        << name << " begins with " << number(found.at(name), 0) << ", expected "
        << number(want, 0);
    largest = std::max(largest, gap);
  }
}

runtime::SessionOptions oneThread() {
  runtime::SessionOptions options;
  options.threads = 1;
  return options;
}

/// Returns the states at the end.
NamedTensors expectOneProcess(const Case &wanted, int ranks,
                              const std::vector<char> &artifact) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks");
  Compiled whole(filled(wanted.program, kSamples * ranks, wanted.recipe),
                 oneThread());
  RankSessions group(artifact, ranks);
  Limits limits = limitsOf(wanted, ranks);
  Gaps gaps;
  for (int step = 0; step < wanted.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    NamedTensors batch = batchOf(whole, step, 1);
    if (wanted.change)
      wanted.change(batch, step, ranks);
    NamedTensors expected = whole.run("train", batch);
    for (const NamedTensors &found : group.run("train", batch))
      expectGap(found, expected, limits.losses, gaps.losses);
    if (step == wanted.firstUpdate)
      expectGap(group.on(0).states(), whole.states(), limits.gradients,
                gaps.gradients);
  }
  NamedTensors states = group.on(0).states();
  expectGap(states, whole.states(), limits.states, gaps.states);
  gaps.record(ranks);
  group.expectReplicas();
  return states;
}

/// Returns the states at the end, with the last of the numbers of ranks.
NamedTensors expectOneProcess(const Case &wanted) {
  NamedTensors states;
  std::vector<char> artifact =
      artifactOf(onRanks(wanted.program, wanted.recipe, wanted.distribution));
  for (int ranks : ranksToTest())
    states = expectOneProcess(wanted, ranks, artifact);
  return states;
}

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

//===-- batches -----------------------------------------------------------===//

/// Ignores the labels of samples [first, last).
void ignore(NamedTensors &batch, int64_t first, int64_t last) {
  auto labels = batch.at("label").integers.begin();
  std::fill(labels + first, labels + last, -100);
}

/// No label of rank 0 counts, and of each rank behind it one more does.
void ignoreUnequally(NamedTensors &batch, int, int ranks) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    ignore(batch, rank * kSamples,
           (rank + 1) * kSamples - std::min<int64_t>(rank, kSamples));
  if (ranks == 1)
    batch.at("label").integers[1] = 3;
}

/// Some steps have a number that is none among the samples of the last rank.
void overflow(NamedTensors &batch, int step, int ranks) {
  if (step % 5 == 2)
    batch.at("x").floats.back() = INFINITY;
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
