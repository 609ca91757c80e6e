// Ranks that train their own weights and share one part of them in each update.

#include "one_process.h"

#include "runtime/well_known.h"

#include <cmath>

using namespace gradus;

namespace {

std::string partial(int parts) {
  return ", reduce = \"partial\", parts = " + std::to_string(parts) + " : i64";
}

/// The parameters of a program in parts, in the order of their turns.
using Parts = std::vector<std::vector<std::string>>;

/// Those of kDense have 768, 64, 640 and 40 bytes.
const Parts kOne = {{"v", "a", "w", "b"}}, kTwo = {{"v"}, {"w", "a", "b"}},
            kThree = {{"v"}, {"w"}, {"a", "b"}},
            kFour = {{"v"}, {"w"}, {"a"}, {"b"}};

/// Ranks as processes that know nothing of each other, and the arithmetic of
/// what they share in f64.
class Apart {
public:
  Apart(const Case &wanted, int ranks, Parts parts) : parts_(std::move(parts)) {
    std::vector<char> artifact =
        artifactOf(filled(wanted.program, kSamples, wanted.recipe));
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<Compiled>(artifact, oneThread()));
  }

  void step(const NamedTensors &batch, size_t update) {
    runtime::Session &session = ranks_[0]->session();
    const auto &train = session.graphs()[session.findGraph("train")];
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      ranks_[rank]->run("train", partOf(batch, train, static_cast<int>(rank)));
    for (const std::string &name : parts_[update % parts_.size()])
      share(name);
  }

  Compiled &on(int rank) { return *ranks_[static_cast<size_t>(rank)]; }

private:
  void share(const std::string &name) {
    std::vector<NamedTensors> states;
    for (auto &rank : ranks_)
      states.push_back(rank->states());
    HostTensor mean = states[0].at(name);
    for (size_t i = 0; i < mean.floats.size(); ++i) {
      double sum = 0;
      for (const NamedTensors &each : states)
        sum += each.at(name).floats[i];
      mean.floats[i] = sum / static_cast<double>(states.size());
    }
    for (auto &rank : ranks_)
      rank->setState(name, mean);
  }

  Parts parts_;
  std::vector<std::unique_ptr<Compiled>> ranks_;
};

/// Whether all ranks have the same bits of a state.
bool isShared(RankSessions &group, const std::string &name) {
  HostTensor first = group.on(0).states().at(name);
  for (int rank = 1; rank < group.ranks(); ++rank)
    if (group.on(rank).states().at(name).floats != first.floats)
      return false;
  return true;
}

/// Expects that ranks have just shared this part, and no other.
void expectShared(RankSessions &group, const Parts &parts, size_t update) {
  for (size_t part = 0; part < parts.size(); ++part)
    for (const std::string &name : parts[part])
      EXPECT_EQ(isShared(group, name), part == update % parts.size()) << name;
}

void expectParts(const Case &wanted, const Parts &parts) {
  auto count = static_cast<int>(parts.size());
  std::vector<char> artifact =
      artifactOf(onRanks(wanted.program, wanted.recipe, partial(count)));
  for (int ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(count) +
                 " parts");
    RankSessions group(artifact, ranks);
    Apart apart(wanted, ranks, parts);
    double largest = 0;
    for (int step = 0; step < 2 * count + 1; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      NamedTensors batch = batchOf(apart.on(0), step, ranks);
      group.run("train", batch);
      apart.step(batch, static_cast<size_t>(step));
      for (int rank = 0; rank < ranks; ++rank)
        expectGap(group.on(rank).states(), apart.on(rank).states(), 1e-5,
                  largest);
      if (ranks > 1)
        expectShared(group, parts, static_cast<size_t>(step));
    }
    group.expectReplicas();
  }
}

const std::string kAdamw = kCrossEntropy + kKeepAll +
                           ", optimizer = {type = \"adamw\", learning_rate = "
                           "0.01}, schedule = {learning_rate = {type = "
                           "\"cosine\", steps = 20 : i64}}";
const std::string kScaled =
    kCrossEntropy + kKeepAll +
    ", loss_scale = {type = \"dynamic\", initial = 1024.0}";

const std::string kScaledByGroups =
    kCrossEntropy + kKeepAll +
    ", loss_scale = {type = \"group\", groups = [[\"v\", \"a\"], [\"w\", "
    "\"b\"]], "
    "initial = [16.0], maximum = 64.0, growth = 1.25}";

/// Three parameters whose gradients are the inputs, one behind the other.
const char *const kVector = R"(
gradus.program @vector attributes {recipe = {RECIPE}} {
  gradus.state @p1 : tensor<1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @p2 : tensor<1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @p3 : tensor<1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<SAMPLESxf32>, %y: tensor<SAMPLESxf32>, %z: tensor<SAMPLESxf32>) -> (cost: tensor<f32>) {
    %p1 = gradus.read @p1 : tensor<1xf32>
    %p2 = gradus.read @p2 : tensor<1xf32>
    %p3 = gradus.read @p3 : tensor<1xf32>
    %0 = arith.mulf %p1, %x : tensor<SAMPLESxf32>
    %1 = arith.mulf %p2, %y : tensor<SAMPLESxf32>
    %2 = arith.mulf %p3, %z : tensor<SAMPLESxf32>
    %3 = arith.addf %0, %1 : tensor<SAMPLESxf32>
    %4 = arith.addf %3, %2 : tensor<SAMPLESxf32>
    %5 = gradus.reduce sum %4 axes [0] : tensor<SAMPLESxf32> -> tensor<f32>
    gradus.return %5 : tensor<f32>
  }
})";

HostTensor number(double value) {
  HostTensor one = zeros({1}, /*isFloat=*/true);
  one.floats[0] = value;
  return one;
}

} // namespace

TEST(Partial, SharesOnePartInEachUpdate) {
  for (const Parts &parts : {kTwo, kThree, kFour}) {
    expectParts({}, parts);
    expectParts({.recipe = kAdamw}, parts);
  }
}

/// With one part ranks share gradients, and have nothing of their own.
TEST(Partial, OfOnePartIsDataParallelToTheBit) {
  for (const std::string &recipe : {kCrossEntropy, kAdamw, kScaled})
    for (int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      RankSessions parts(artifactOf(onRanks(kDense, recipe, partial(1))),
                         ranks),
          plain(artifactOf(onRanks(kDense, recipe)), ranks);
      for (int step = 0; step < 5; ++step) {
        NamedTensors batch = batchOf(plain.on(0), step, ranks);
        parts.run("train", batch);
        plain.run("train", batch);
      }
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(parts.replicated(rank), plain.replicated(rank));
      EXPECT_TRUE(parts.replicated(0).contains("v"));
    }
}

/// Values are averaged, not gradients: for plain descent with momentum the mean
/// of what ranks have is what their mean gradient makes of it. Each remembers
/// its own momentum.
TEST(Partial, OfOnePartBySingasRuleMovesParametersAsOneProcessDoes) {
  std::vector<char> artifact = artifactOf(
      onRanks(kDense, kCrossEntropy + kKeepAll,
              ", reduce = \"partial\", bucket_elements = 1000 : i64"));
  for (int ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    RankSessions group(artifact, ranks);
    Compiled whole(filled(kDense, kSamples * ranks, kCrossEntropy + kKeepAll),
                   oneThread());
    for (int step = 0; step < 10; ++step) {
      NamedTensors batch = batchOf(whole, step, 1), expected;
      double largest = 0;
      expectGap(group.run("train", batch)[0], whole.run("train", batch), 1e-5,
                largest);
      for (const char *name : {"v", "a", "w", "b"}) {
        expected[name] = whole.states().at(name);
        EXPECT_TRUE(isShared(group, name)) << name;
      }
      expectGap(group.on(0).states(), expected, 1e-5, largest);
    }
    EXPECT_EQ(isShared(group, "sgd/momentum/v"), ranks == 1);
  }
}

/// The vector of the method's description: two ranks, rate 0.1.
TEST(Partial, IsThatOfSinga) {
  std::string text =
      onRanks(kVector,
              "loss = {type = \"output\"}, optimizer = {type = \"sgd\", "
              "learning_rate = 0.1, momentum = 0.0}",
              partial(3));
  for (size_t at; (at = text.find("tensor<4x")) != std::string::npos;)
    text.replace(at, 9, "tensor<1x");
  RankSessions group(artifactOf(text), 2);
  const double gradients[2][3] = {{1, 1, 1}, {-1, 2, 0}};
  NamedTensors batch;
  for (int i = 0; i < 3; ++i) {
    std::string input(1, "xyz"[i]), state = "p" + std::to_string(i + 1);
    batch[input] = zeros({2}, /*isFloat=*/true);
    for (int rank = 0; rank < 2; ++rank) {
      batch[input].floats[static_cast<size_t>(rank)] = gradients[rank][i];
      group.on(rank).setState(state, number(rank ? 3 : 1));
    }
  }
  const double expected[4][2][3] = {{{2, 0.9, 0.9}, {2, 2.8, 3}},
                                    {{1.9, 1.7, 0.8}, {2.1, 1.7, 3}},
                                    {{1.8, 1.6, 1.85}, {2.2, 1.5, 1.85}},
                                    {{2, 1.5, 1.75}, {2, 1.3, 1.85}}};
  for (int step = 0; step < 4; ++step) {
    group.run("train", batch);
    for (int rank = 0; rank < 2; ++rank)
      for (int i = 0; i < 3; ++i)
        EXPECT_NEAR(
            group.on(rank).states().at("p" + std::to_string(i + 1)).floats[0],
            expected[step][rank][i], 1e-6)
            << "p" << i + 1 << " of rank " << rank << " after step " << step;
  }
}

/// Losses are of the samples of all; so are running statistics, whatever
/// weights they were computed with.
TEST(Partial, SharesLossesAndRunningStatistics) {
  Case wanted{.program = kNormalized, .recipe = kCrossEntropy};
  RankSessions group(
      artifactOf(onRanks(wanted.program, wanted.recipe, partial(2))), 3);
  Compiled alone(filled(wanted.program, kSamples, wanted.recipe), oneThread());
  for (int step = 0; step < 4; ++step) {
    std::vector<NamedTensors> found =
        group.run("train", batchOf(alone, step, 3));
    for (const NamedTensors &other : found)
      EXPECT_EQ(other.at("loss").floats, found[0].at("loss").floats);
    EXPECT_TRUE(isShared(group, "mean") && isShared(group, "variance"));
    EXPECT_FALSE(isShared(group, "scale") && isShared(group, "v"));
  }
}

/// Those of the first rank's samples, where the others' are not asked for.
TEST(Partial, KeepsTheRunningStatisticsOfTheFirstRank) {
  const Parts parts = {{"v"}, {"w", "scale", "bias"}};
  Case wanted{.program = kNormalized, .recipe = kCrossEntropy + kKeepAll};
  std::vector<char> artifact = artifactOf(onRanks(
      wanted.program, wanted.recipe, partial(2) + ", batch_norm = \"local\""));
  for (int ranks : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    RankSessions group(artifact, ranks);
    Apart apart(wanted, ranks, parts);
    double largest = 0;
    for (int step = 0; step < 5; ++step) {
      NamedTensors batch = batchOf(apart.on(0), step, ranks);
      group.run("train", batch);
      apart.step(batch, static_cast<size_t>(step));
      NamedTensors first = apart.on(0).states();
      for (int rank = 0; rank < ranks; ++rank) {
        NamedTensors expected = apart.on(rank).states();
        for (const char *name : {"mean", "variance"}) {
          if (rank > 0)
            EXPECT_NE(expected.at(name).floats, first.at(name).floats) << name;
          expected[name] = first.at(name);
        }
        expectGap(group.on(rank).states(), expected, 1e-5, largest);
      }
      if (ranks > 1)
        expectShared(group, parts, static_cast<size_t>(step));
    }
    group.expectReplicas();
  }
}

/// A rank's weights follow the sum over its own samples, which no mean over
/// ranks divides later; what a step reports is the sum over all.
TEST(Partial, FollowsTheSumOfEachRank) {
  Case wanted{.recipe = "loss = {type = \"sum\", of = [{type = "
                        "\"softmax_cross_entropy\", reduction = \"sum\", "
                        "weight = 0.1}, {type = \"softmax_cross_entropy\"}]}" +
                        kKeepAll};
  expectParts(wanted, kTwo);
  RankSessions group(
      artifactOf(onRanks(wanted.program, wanted.recipe, partial(2))), 3);
  Compiled whole(filled(wanted.program, kSamples * 3, wanted.recipe),
                 oneThread());
  NamedTensors batch = batchOf(whole, 0, 1);
  double largest = 0;
  expectGap(group.run("train", batch)[0], whole.run("train", batch), 1e-5,
            largest);
}

/// A rank without a label that counts adds nothing, and stays finite.
TEST(Partial, CountsTheLabelsOfEachRank) {
  RankSessions group(
      artifactOf(onRanks(kDense, kCrossEntropy + kKeepAll, partial(2))), 2);
  Compiled alone(filled(kDense, kSamples, kCrossEntropy + kKeepAll),
                 oneThread());
  NamedTensors batch = batchOf(alone, 0, 2), before = group.on(0).states();
  ignore(batch, 0, kSamples);
  group.run("train", batch);
  NamedTensors after = group.on(0).states();
  EXPECT_EQ(after.at("w").floats, before.at("w").floats)
      << "no part of it was shared";
  for (double each : after.at("v").floats)
    EXPECT_TRUE(std::isfinite(each));
  EXPECT_NE(after.at("v").floats, before.at("v").floats)
      << "the other rank has learnt";
}

/// One rank's overflow skips the step on all, and the part waits for its turn.
TEST(Partial, SkipsAStepInWhichOneRankOverflows) {
  for (const std::string &recipe : {kScaled, kScaledByGroups}) {
    RankSessions group(artifactOf(onRanks(kDense, recipe, partial(3))), 2);
    Compiled alone(filled(kDense, kSamples, recipe), oneThread());
    size_t update = 0;
    for (int step = 0; step < 8; ++step) {
      SCOPED_TRACE(recipe + ", step " + std::to_string(step));
      NamedTensors batch = batchOf(alone, step, 2);
      overflow(batch, step, 2);
      std::vector<NamedTensors> before;
      for (int rank = 0; rank < 2; ++rank)
        before.push_back(group.on(rank).states());
      group.run("train", batch);
      bool isSkipped = step % 5 == 2;
      for (int rank = 0; rank < 2; ++rank)
        for (const char *name : {"v", "w", "a", "b"})
          EXPECT_EQ(group.on(rank).states().at(name).floats ==
                        before[static_cast<size_t>(rank)].at(name).floats,
                    isSkipped)
              << name << " of rank " << rank;
      if (!isSkipped)
        expectShared(group, kThree, update++);
      group.expectReplicas();
    }
    HostTensor skipped = group.on(1).states().at(well_known::kSkippedSteps);
    EXPECT_EQ(skipped.integers[0], 2);
  }
}

/// The mean of the averages is the average of the means.
TEST(Partial, LetsEachRankAverageItsWeights) {
  std::string recipe = kCrossEntropy + kKeepAll + ", ema = {decay = 0.75}";
  RankSessions group(artifactOf(onRanks(kDense, recipe, partial(2))), 3);
  Compiled alone(filled(kDense, kSamples, recipe), oneThread());
  auto mean = [&](const std::string &name) {
    HostTensor sum = group.on(0).states().at(name);
    for (size_t i = 0; i < sum.floats.size(); ++i) {
      for (int rank = 1; rank < 3; ++rank)
        sum.floats[i] += group.on(rank).states().at(name).floats[i];
      sum.floats[i] /= 3;
    }
    return sum;
  };
  NamedTensors expected;
  for (int step = 0; step < 5; ++step) {
    group.run("train", batchOf(alone, step, 3));
    for (const char *name : {"v", "a", "w", "b"}) {
      HostTensor now = mean(name);
      HostTensor &average = expected[std::string("ema/average/") + name];
      if (step == 0)
        average = now;
      for (size_t i = 0; i < now.floats.size(); ++i)
        average.floats[i] += 0.25 * (now.floats[i] - average.floats[i]);
    }
  }
  NamedTensors found;
  for (const auto &[name, average] : expected)
    found[name] = mean(name);
  double largest = 0;
  expectGap(found, expected, 1e-5, largest);
  EXPECT_FALSE(isShared(group, "ema/average/v"));
}
