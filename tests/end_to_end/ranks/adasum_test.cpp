// AdaSum over ranks, through recipe, passes and executor.
//
// Vectors that are given as gradients show the formula. Ranks with equal
// samples show all that stands around it: AdaSum of equal gradients is each of
// them, so they train as one process does with these samples.

#include "programs.h"
#include "sessions.h"

#include "ir/philox.h"
#include "tests/runtime/collectives/group_ranks.h"

#include <cmath>

using namespace gradus;

namespace {

const std::string kAdasum = ", reduce = \"adasum\"";

/// Two tensors that move against their inputs.
std::string
moved(const std::string &distribution,
      const std::string &optimizer = "{type = \"sgd\", learning_rate = 1.0}") {
  return "gradus.program @p attributes {recipe = {optimizer = " + optimizer +
         ", distribution = {mode = \"data_parallel\"" + kAdasum + distribution +
         R"(}}} {
  gradus.state @a : tensor<5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<3x11xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<5xf32>, %h: tensor<3x11xf32>) {
    gradus.update @a, %g : tensor<5xf32>
    gradus.update @b, %h : tensor<3x11xf32>
    gradus.return
  }
})";
}

/// Gradients of all ranks, one behind the other.
NamedTensors gradientsOf(int ranks, int step = 0) {
  NamedTensors all;
  for (auto [name, size] : {std::pair("g", 5), {"h", 33}}) {
    std::vector<int64_t> shape = {int64_t(ranks) * size};
    HostTensor tensor = zeros(shape, /*isFloat=*/true);
    Philox stream(static_cast<uint64_t>(step), name);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.floats[i] = static_cast<float>(stream.uniform(i) * 2 - 1);
    all[name] = std::move(tensor);
  }
  return all;
}

std::vector<double> ofRank(const HostTensor &all, int rank, int ranks) {
  auto size = static_cast<ptrdiff_t>(all.floats.size()) / ranks;
  auto begin = all.floats.begin() + size * rank;
  return {begin, begin + size};
}

std::vector<std::vector<double>> byRank(const HostTensor &all, int ranks) {
  std::vector<std::vector<double>> vectors;
  for (int rank = 0; rank < ranks; ++rank)
    vectors.push_back(ofRank(all, rank, ranks));
  return vectors;
}

void expectMoved(const HostTensor &found, const std::vector<double> &combined) {
  ASSERT_EQ(found.floats.size(), combined.size());
  for (size_t i = 0; i < combined.size(); ++i)
    EXPECT_NEAR(found.floats[i], -combined[i], 2e-6) << i;
}

using Bits = std::map<std::string, std::vector<uint8_t>>;

Bits bitsAfter(const std::string &text, int ranks, int steps) {
  RankSessions group(artifactOf(text), ranks);
  for (int step = 0; step < steps; ++step)
    group.run("train", gradientsOf(ranks, step));
  group.expectReplicas();
  return group.replicated(0);
}

} // namespace

TEST(Adasum, CombinesGradientsByTheFormula) {
  std::vector<char> artifact = artifactOf(moved(""));
  for (int ranks : {2, 3, 4, 5, 6, 8, 12, 16}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    RankSessions group(artifact, ranks);
    NamedTensors gradients = gradientsOf(ranks);
    group.run("train", gradients);
    NamedTensors states = group.on(0).states();
    for (auto [state, gradient] : {std::pair("a", "g"), {"b", "h"}})
      expectMoved(states.at(state),
                  runtime::adasumOfAll(byRank(gradients.at(gradient), ranks)));
    group.expectReplicas();
  }
}

TEST(Adasum, TakesTheMeanWithinGroupsFirst) {
  std::vector<char> artifact =
      artifactOf(moved(", adasum = {within = 2 : i64}"));
  for (int ranks : {1, 2, 4, 6}) {
    RankSessions group(artifact, ranks);
    NamedTensors gradients = gradientsOf(ranks);
    group.run("train", gradients);
    expectMoved(group.on(0).states().at("b"),
                runtime::adasumOfAll(
                    runtime::meansOf(byRank(gradients.at("h"), ranks),
                                     static_cast<size_t>(std::min(ranks, 2)))));
    group.expectReplicas();
  }
}

TEST(Adasum, TakesTheModelAsOneVector) {
  RankSessions group(artifactOf(moved(", adasum = {per = \"model\"}")), 3);
  NamedTensors gradients = gradientsOf(3);
  group.run("train", gradients);
  std::vector<std::vector<double>> vectors = byRank(gradients.at("g"), 3);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<double> more = ofRank(gradients.at("h"), rank, 3);
    vectors[static_cast<size_t>(rank)].insert(
        vectors[static_cast<size_t>(rank)].end(), more.begin(), more.end());
  }
  std::vector<double> combined = runtime::adasumOfAll(vectors);
  expectMoved(group.on(0).states().at("a"),
              {combined.begin(), combined.begin() + 5});
  expectMoved(group.on(0).states().at("b"),
              {combined.begin() + 5, combined.end()});
}

TEST(Adasum, GivesTheSameBitsForAnyBuckets) {
  Bits whole = bitsAfter(moved(""), 3, 2);
  EXPECT_EQ(bitsAfter(moved(", bucket_bytes = 1 : i64"), 3, 2), whole);
  EXPECT_EQ(bitsAfter(moved(", gradient_splits = [1]"), 3, 2), whole);
  EXPECT_EQ(bitsAfter(moved(", ranks = 3 : i64"), 3, 2), whole);
}

/// Each rank's update is that of plain descent with a momentum, which the ranks
/// then share the mean of.
TEST(Adasum, CombinesWhatUpdatesOfRanksChange) {
  const std::string momentum =
      "{type = \"sgd\", learning_rate = 0.5, momentum = 0.5}";
  for (int ranks : {2, 3}) {
    RankSessions group(
        artifactOf(moved(", adasum = {of = \"weights\"}", momentum)), ranks);
    std::vector<double> slot(5), weight(5);
    for (int step = 0; step < 3; ++step) {
      NamedTensors gradients = gradientsOf(ranks, step);
      group.run("train", gradients);
      std::vector<std::vector<double>> slots, changes;
      for (std::vector<double> own : byRank(gradients.at("g"), ranks)) {
        for (size_t i = 0; i < 5; ++i)
          own[i] += 0.5 * slot[i];
        slots.push_back(own);
        for (double &each : own)
          each *= 0.5;
        changes.push_back(own);
      }
      std::vector<double> change = runtime::adasumOfAll(changes);
      slot = runtime::meansOf(slots, static_cast<size_t>(ranks))[0];
      for (size_t i = 0; i < 5; ++i)
        weight[i] += change[i];
      expectMoved(group.on(0).states().at("a"), weight);
    }
    group.expectReplicas();
  }
}

//===-- around it ---------------------------------------------------------===//

namespace {

/// The inputs of one rank, for each of them.
NamedTensors repeated(const NamedTensors &batch, int ranks) {
  NamedTensors all = batch;
  for (auto &[name, tensor] : all) {
    HostTensor one = tensor;
    for (int rank = 1; rank < ranks; ++rank) {
      tensor.floats.insert(tensor.floats.end(), one.floats.begin(),
                           one.floats.end());
      tensor.integers.insert(tensor.integers.end(), one.integers.begin(),
                             one.integers.end());
    }
    tensor.shape[0] *= ranks;
  }
  return all;
}

/// Expects ranks with equal samples to train as one process does with these.
/// In some steps a number of all is none.
void expectAsAlone(const char *program, const std::string &recipe,
                   const std::string &adasum = "", bool overflows = false) {
  constexpr int kSteps = 8;
  std::vector<char> artifact =
      artifactOf(onRanks(program, recipe, kAdasum + adasum));
  for (int ranks : ranksToTest()) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    Compiled alone(filled(program, kSamples, recipe));
    RankSessions group(artifact, ranks);
    for (int step = 0; step < kSteps; ++step) {
      NamedTensors batch = batchOf(alone, step, 1);
      if (overflows && step % 3 == 1)
        batch.at("x").floats.back() = INFINITY;
      alone.run("train", batch);
      group.run("train", repeated(batch, ranks));
    }
    NamedTensors found = group.on(0).states(), wanted = alone.states();
    for (const auto &[name, tensor] : wanted)
      for (size_t i = 0; i < tensor.floats.size(); ++i)
        ASSERT_NEAR(found.at(name).floats[i], tensor.floats[i],
                    1e-5 * (1 + std::fabs(tensor.floats[i])))
            << name << " " << i;
    group.expectReplicas();
  }
}

const std::string kPlain = kCrossEntropy + kKeepAll;

} // namespace

TEST(Adasum, OfEqualGradientsIsEachOfThem) {
  expectAsAlone(kDense, kPlain);
  expectAsAlone(kDense, kPlain, ", adasum = {per = \"model\"}");
  expectAsAlone(kDense, kPlain, ", adasum = {of = \"weights\"}");
  expectAsAlone(kDense, kPlain, ", adasum = {within = 0 : i64}");
}

TEST(Adasum, AccumulatesBeforeItCombines) {
  expectAsAlone(kDense, kPlain + ", accumulation = 2 : i64");
  expectAsAlone(kDense, kPlain + ", accumulation = 2 : i64",
                ", adasum = {of = \"weights\"}");
}

TEST(Adasum, ClipsWhatIsCombined) {
  expectAsAlone(kDense,
                kPlain + ", clip = {type = \"global_norm\", value = 0.05}");
}

TEST(Adasum, SkipsStepsThatOverflowOnAnyRank) {
  for (const char *of : {"gradients", "weights"})
    expectAsAlone(kDense, kPlain + ", loss_scale = {type = \"dynamic\"}",
                  std::string(", adasum = {of = \"") + of + "\"}",
                  /*overflows=*/true);
}

TEST(Adasum, HasScalesOfGroupsOnAllRanks) {
  for (const char *of : {"gradients", "weights"})
    for (bool overflows : {false, true})
      expectAsAlone(kDense,
                    kPlain + ", loss_scale = {type = \"group\", groups = "
                             "[[\"v\", \"a\"], [\"w\", \"b\"]], initial = "
                             "[64.0, 8.0]}",
                    std::string(", adasum = {per = \"model\", of = \"") + of +
                        "\"}",
                    overflows);
}

TEST(Adasum, LeavesStatisticsOfBatchesTheirMean) {
  expectAsAlone(kNormalized, kCrossEntropy);
}

TEST(Adasum, CombinesWhatIsNotFrozen) {
  expectAsAlone(kDense, kPlain + ", gradient_freeze = {groups = 2 : i64, p = "
                                 "0.5, total_steps = 64 : i64}");
}

/// An infinite number on one rank alone: none of them takes the step.
TEST(Adasum, SkipsAStepForARankThatOverflows) {
  RankSessions group(
      artifactOf(
          onRanks(kDense, kPlain + ", on_nonfinite = \"skip\"", kAdasum)),
      3);
  NamedTensors batch = batchOf(group.on(0), 0, 3);
  group.run("train", batch);
  Bits before = group.replicated(0);
  batch.at("x").floats.back() = INFINITY;
  group.run("train", batch);
  Bits after = group.replicated(0);
  for (const char *name : {"v", "a", "w", "b"})
    EXPECT_EQ(after.at(name), before.at(name)) << name;
  group.expectReplicas();
}
