// Sparse sums over ranks, through recipe, passes and executor: known numbers of
// SINGA's and of Deep Gradient Compression's rules, what is kept of each rank's
// gradients, and what stands around it.

#include "programs.h"
#include "sessions.h"

#include "ir/philox.h"

#include <cmath>
#include <numeric>

using namespace gradus;

namespace {

const std::string kDescent = "{type = \"sgd\", learning_rate = 1.0}";
const std::string kTopk = ", reduce = \"sparse_topk\", ratio = ",
                  kThreshold = ", reduce = \"sparse_threshold\", threshold = ";

/// A tensor that moves against the sums of what ranks send.
std::string moved(int64_t size, int ranks, const std::string &distribution,
                  const std::string &optimizer = kDescent,
                  const std::string &type = "f32") {
  std::string tensor = "tensor<" + std::to_string(size) + "x" + type + ">";
  return "gradus.program @p attributes {recipe = {optimizer = " + optimizer +
         ", distribution = {mode = \"data_parallel\", mean = false, ranks = " +
         std::to_string(ranks) + " : i64" + distribution + "}}} {\n" +
         "  gradus.state @a : " + tensor +
         " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n" +
         "  gradus.graph @train(%g: " + tensor + ") {\n" +
         "    gradus.update @a, %g : " + tensor + "\n    gradus.return\n  }\n}";
}

using Vector = std::vector<double>;

/// The gradients of all ranks, one behind the other.
NamedTensors gradients(const std::vector<Vector> &ofRanks) {
  std::vector<int64_t> shape = {
      static_cast<int64_t>(ofRanks.size() * ofRanks[0].size())};
  HostTensor all = zeros(shape);
  all.floats.clear();
  for (const Vector &one : ofRanks)
    all.floats.insert(all.floats.end(), one.begin(), one.end());
  return {{"g", all}};
}

Vector stateOf(RankSessions &group, int rank, const std::string &name) {
  HostTensor tensor = group.on(rank).states().at(name);
  return {tensor.floats.begin(), tensor.floats.end()};
}

void expectNear(const Vector &found, const Vector &wanted,
                const std::string &what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6) << what << " " << i;
}

/// What a step adds up, and what the ranks keep after it.
struct Step {
  Vector sum;
  std::vector<Vector> residuals;
};

void expectSteps(const std::string &how, const std::vector<Vector> &ofRanks,
                 const std::vector<Step> &steps) {
  auto ranks = static_cast<int>(ofRanks.size());
  RankSessions group(artifactOf(moved(int64_t(ofRanks[0].size()), ranks, how)),
                     ranks);
  Vector before(ofRanks[0].size());
  for (size_t step = 0; step < steps.size(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step + 1));
    group.run("train", gradients(ofRanks));
    Vector after = stateOf(group, 0, "a"), sum = before;
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] -= after[i];
    expectNear(sum, steps[step].sum, "sum");
    for (int rank = 0; rank < ranks; ++rank)
      expectNear(stateOf(group, rank, "kept/residual/a"),
                 steps[step].residuals[static_cast<size_t>(rank)],
                 "residual of rank " + std::to_string(rank));
    before = after;
  }
  group.expectReplicas();
}

const std::vector<Vector> kOfRanks = {{.10, -.02, .04, 0, -.30, .05},
                                      {.03, .06, -.04, .02, .20, -.05}};

} // namespace

//===-- known numbers -----------------------------------------------------===//

/// SINGA compares magnitudes as integers, and sends the first elements only.
TEST(SparseSums, SendTheLargestElements) {
  expectSteps(kTopk + "0.34", kOfRanks,
              {{{.10, .06, 0, 0, -.10, 0},
                {{0, -.02, .04, 0, 0, 0}, {.03, 0, -.04, .02, 0, 0}}},
               {{.16, 0, 0, 0, -.10, 0},
                {{0, -.04, 0, 0, 0, .05}, {0, .06, 0, .04, 0, -.05}}},
               {{.10, .12, 0, 0, -.10, 0},
                {{0, -.06, .04, 0, 0, 0}, {.03, 0, -.04, .06, 0, 0}}}});
}

TEST(SparseSums, SendWhatReachesAThreshold) {
  expectSteps(kThreshold + "0.05, capacity = 1.0", kOfRanks,
              {{{.10, .06, 0, 0, -.10, 0},
                {{0, -.02, .04, 0, 0, 0}, {.03, 0, -.04, .02, 0, 0}}},
               {{.16, .06, 0, 0, -.10, 0},
                {{0, -.04, 0, 0, 0, 0}, {0, 0, 0, .04, 0, 0}}},
               {{.10, 0, 0, .06, -.10, 0},
                {{0, 0, .04, 0, 0, 0}, {.03, 0, -.04, 0, 0, 0}}}});
}

/// SINGA counts an element that was sent once more.
TEST(SparseSums, AddEachElementOnce) {
  expectSteps(kThreshold + "0.5, capacity = 1.0", {{1, 0, 2, 3}, {0, 0, 0, 0}},
              {{{1, 0, 2, 3}, {{0, 0, 0, 0}, {0, 0, 0, 0}}}});
}

TEST(SparseSums, KeepWhatAMessageHasNoRoomFor) {
  expectSteps(kThreshold + "0.5, capacity = 0.5", {{1, 0, 2, 3}, {1, 1, 1, 1}},
              {{{1, 1, 2, 3}, {{1, 0, 0, 0}, {0, 0, 1, 1}}}});
}

TEST(SparseSums, OfAllElementsAreSums) {
  expectSteps(kTopk + "1.0", {{1, 0, 2, 3}, {1, 1, 1, 1}, {0, 0, 0, 4}},
              {{{2, 1, 3, 8}, {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}}});
}

/// Deep Gradient Compression: momentum starts anew where an element is sent.
TEST(SparseSums, AddUpMomentumBeforeTheySend) {
  const Vector g = {.10, -.02, .04, 0, -.30, .05};
  RankSessions group(
      artifactOf(moved(6, 2, kTopk + "0.33, momentum_correction = true",
                       "{type = \"sgd\", learning_rate = 1.0, momentum = "
                       "0.9}")),
      2);
  for (int step = 0; step < 3; ++step)
    group.run("train", gradients({g, g}));
  expectNear(stateOf(group, 1, "kept/momentum/a"),
             {0, -.0542, .1084, 0, 0, .05}, "momentum");
  expectNear(stateOf(group, 1, "kept/residual/a"),
             {0, -.1122, .2244, 0, 0, .05}, "residual");
  expectNear(stateOf(group, 0, "a"),
             {-2 * (.1 + .29), 0, 0, 0, 2 * .9, -2 * .145}, "weights");
}

//===-- what is kept ------------------------------------------------------===//

namespace {

/// Whole numbers, whose sums are exact, on a part of the elements that no other
/// rank has any on.
std::vector<Vector> apart(int ranks, size_t each, int step) {
  std::vector<Vector> all(size_t(ranks), Vector(each * size_t(ranks)));
  Philox stream(static_cast<uint64_t>(step), "g");
  for (size_t rank = 0; rank < size_t(ranks); ++rank)
    for (size_t i = 0; i < each; ++i) {
      size_t at = rank * each + i;
      all[rank][at] = std::round(stream.uniform(int64_t(at)) * 200 - 100);
    }
  return all;
}

} // namespace

TEST(SparseSums, LoseNothingOnAnyRank) {
  constexpr int kRanks = 3, kSteps = 20;
  constexpr size_t kEach = 50;
  for (const char *type : {"f32", "f64"})
    for (const std::string &how : {kTopk + "0.05", kThreshold + "150.0",
                                   kThreshold + "50.0, capacity = "
                                                "0.1"}) {
      SCOPED_TRACE(type + how);
      RankSessions group(
          artifactOf(moved(kRanks * kEach, kRanks, how, kDescent, type)),
          kRanks);
      Vector total(kRanks * kEach);
      for (int step = 0; step < kSteps; ++step) {
        std::vector<Vector> ofRanks = apart(kRanks, kEach, step);
        for (const Vector &one : ofRanks)
          for (size_t i = 0; i < total.size(); ++i)
            total[i] += one[i];
        group.run("train", gradients(ofRanks));
        Vector sent = stateOf(group, 0, "a");
        for (size_t rank = 0; rank < kRanks; ++rank) {
          Vector kept = stateOf(group, int(rank), "kept/residual/a");
          for (size_t i = rank * kEach; i < (rank + 1) * kEach; ++i)
            ASSERT_EQ(kept[i] - sent[i], total[i]) << rank << " " << i;
        }
      }
      group.expectReplicas();
    }
}

TEST(SparseSums, LoseTheRestWithoutFeedback) {
  RankSessions group(
      artifactOf(moved(4, 2, kTopk + "0.25, error_feedback = false")), 2);
  for (int step = 0; step < 2; ++step)
    group.run("train", gradients({{1, 2, 3, 4}, {1, 0, 0, 0}}));
  EXPECT_EQ(stateOf(group, 1, "a"), (Vector{-2, 0, 0, -8}));
  EXPECT_FALSE(group.on(0).states().contains("kept/residual/a"));
}

TEST(SparseSums, OfOneRankAreWhatItSends) {
  expectSteps(kTopk + "0.5", {{1, 4, 2, 3}},
              {{{0, 4, 0, 3}, {{1, 0, 2, 0}}}, {{0, 4, 4, 0}, {{2, 0, 0, 3}}}});
}

TEST(SparseSums, OfZerosAreZeros) {
  expectSteps(kTopk + "0.5", {{0, 0, 0}, {0, 0, 0}},
              {{{0, 0, 0}, {{0, 0, 0}, {0, 0, 0}}}});
}

/// The first of equal ones are sent, and one at least.
TEST(SparseSums, SendTheFirstOfEqualOnesAndOneOfFew) {
  expectSteps(kTopk + "0.34", {{1, -1, 1, 1, -1}, {0, 0, 0, 0, 0}},
              {{{1, -1, 0, 0, 0}, {{0, 0, 1, 1, -1}, {0, 0, 0, 0, 0}}}});
  expectSteps(kTopk + "0.01", {{1, 2, -3}, {0, 0, 0}},
              {{{0, 0, -3}, {{1, 2, 0}, {0, 0, 0}}},
               {{0, 4, 0}, {{2, 0, -3}, {0, 0, 0}}}});
}

/// A NaN is sent before all numbers, and spoils its element of the sum alone.
TEST(SparseSums, SendNotANumberFirst) {
  RankSessions group(artifactOf(moved(4, 2, kTopk + "0.25")), 2);
  group.run("train", gradients({{1, NAN, 9, 0}, {2, 0, 0, 0}}));
  Vector after = stateOf(group, 1, "a");
  EXPECT_TRUE(std::isnan(after[1]));
  EXPECT_EQ(after[0], -2);
  EXPECT_EQ(after[2], 0);
  EXPECT_EQ(stateOf(group, 0, "kept/residual/a"), (Vector{1, 0, 9, 0}));
}

/// Of more NaNs than a rank may send the others wait, and come next.
TEST(SparseSums, SendNoMoreNotANumberThanTheyMay) {
  RankSessions group(artifactOf(moved(4, 2, kTopk + "0.25")), 2);
  group.run("train", gradients({{1, NAN, NAN, 0}, {2, 0, 0, 0}}));
  EXPECT_TRUE(std::isnan(stateOf(group, 1, "a")[1]));
  EXPECT_EQ(stateOf(group, 1, "a")[2], 0);
  EXPECT_TRUE(std::isnan(stateOf(group, 0, "kept/residual/a")[2]));
  group.run("train", gradients({{5, 0, 0, 0}, {0, 0, 0, 0}}));
  EXPECT_TRUE(std::isnan(stateOf(group, 1, "a")[2]));
  EXPECT_EQ(stateOf(group, 0, "kept/residual/a"), (Vector{6, 0, 0, 0}));
}

/// Small gradients would be lost where a residual had 16 bits.
TEST(SparseSums, KeepGradientsOf16BitsInF32) {
  RankSessions group(artifactOf(moved(2, 2, kTopk + "0.5", kDescent, "bf16")),
                     2);
  for (int step = 0; step < 300; ++step)
    group.run("train", gradients({{300, 1}, {300, 1}}));
  EXPECT_EQ(stateOf(group, 1, "kept/residual/a"), (Vector{0, 300}))
      << "in bf16 256 and 1 are 256";
}

/// SINGA writes beyond its buffers of 4,194,304 elements.
TEST(SparseSums, TakeLargeTensors) {
  constexpr int64_t kSize = 4'194'305;
  RankSessions group(artifactOf(moved(kSize, 2, kTopk + "0.001")), 2);
  Vector one(kSize), other(kSize);
  for (size_t i = 0; i < kSize; ++i)
    one[i] = static_cast<double>(i), other[i] = -1;
  group.run("train", gradients({one, other}));
  Vector after = stateOf(group, 0, "a");
  EXPECT_EQ(after.back(), -static_cast<double>(kSize - 1));
  EXPECT_EQ(after[4194], 1) << "the first of equal ones are sent";
  EXPECT_EQ(after[4195], 0);
  EXPECT_EQ(after[kSize - 4195], -static_cast<double>(kSize - 4195));
  EXPECT_EQ(after[kSize - 4196], 0);
}

//===-- around it ---------------------------------------------------------===//

namespace {

using Bits = std::map<std::string, std::vector<uint8_t>>;

Bits bitsAfter(const std::string &recipe, int ranks, const std::string &keys,
               int steps = 5) {
  RankSessions group(artifactOf(onRanks(kDense, recipe,
                                        keys + ", ranks = " +
                                            std::to_string(ranks) + " : i64")),
                     ranks);
  for (int step = 0; step < steps; ++step)
    group.run("train", batchOf(group.on(0), step, ranks));
  group.expectReplicas();
  return group.replicated(0);
}

const std::string kPlain = kCrossEntropy + kKeepAll;

/// Expects the weights that plain sums give.
void expectClose(const std::string &recipe, const std::string &keys,
                 const std::string &wantedRecipe,
                 const std::string &wantedKeys = "") {
  constexpr int kRanks = 3;
  auto after = [&](const std::string &training, const std::string &how) {
    RankSessions group(
        artifactOf(onRanks(kDense, training, how + ", ranks = 3 : i64")),
        kRanks);
    for (int step = 0; step < 6; ++step)
      group.run("train", batchOf(group.on(0), step, kRanks));
    group.expectReplicas();
    return group.on(0).states();
  };
  NamedTensors found = after(recipe, keys),
               wanted = after(wantedRecipe, wantedKeys);
  for (const auto &[name, tensor] : wanted)
    if (tensor.isFloat && found.contains(name))
      for (size_t i = 0; i < tensor.floats.size(); ++i)
        ASSERT_NEAR(found.at(name).floats[i], tensor.floats[i], 1e-5)
            << name << " " << i;
}

} // namespace

TEST(SparseSums, GiveTheSameBitsForAnyBuckets) {
  Bits whole = bitsAfter(kPlain, 3, kTopk + "0.1");
  EXPECT_EQ(bitsAfter(kPlain, 3, kTopk + "0.1, bucket_bytes = 1 : i64"), whole);
}

/// What stands around the sums of gradients in a recipe.
static const char *const kAround[] = {
    "",
    ", accumulation = 2 : i64",
    ", clip = {type = \"global_norm\", value = 0.05}",
    ", ema = {decay = 0.5}",
    ", loss_scale = {type = \"dynamic\"}",
    ", groups = [{match = [\"w\"], learning_rate = 0.1}, {match = "
    "[\"v\"], frozen = true}]",
    ", gradient_freeze = {groups = 2 : i64, p = 0.5, total_steps = 64 : i64}",
    ", gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64], "
    "own_slots = true}"};

TEST(SparseSums, OfAllElementsTrainAsSumsDo) {
  for (const char *around : kAround) {
    SCOPED_TRACE(around);
    expectClose(kPlain + around, kTopk + "1.0", kPlain + around);
  }
}

/// Momentum starts anew where an element is sent, and all are.
TEST(SparseSums, OfAllElementsHaveNoMomentumOfTheirOwn) {
  auto descent = [](const char *momentum) {
    return kPlain +
           ", optimizer = {type = \"sgd\", learning_rate = 0.1, "
           "momentum = " +
           momentum + "}";
  };
  for (const char *around : kAround) {
    SCOPED_TRACE(around);
    expectClose(descent("0.9") + around,
                kTopk + "1.0, momentum_correction = true",
                descent("0.0") + around);
  }
}

/// While all elements are sent, momentum of ranks is that of one process; so is
/// that of the decay.
TEST(SparseSums, WarmUpByWholeSums) {
  const std::string warm = kTopk + "0.01, warmup = 6 : i64",
                    corrected = warm + ", momentum_correction = true";
  expectClose(kPlain, warm, kPlain);
  expectClose(kPlain, corrected, kPlain);
  expectClose(kPlain, corrected + ", mean = false", kPlain, ", mean = false");
  for (const char *nesterov : {"true", "false"}) {
    std::string decayed =
        kPlain +
        ", optimizer = {type = \"sgd\", learning_rate = 0.1, momentum "
        "= 0.9, weight_decay = 0.3, nesterov = " +
        nesterov + "}";
    expectClose(decayed, corrected, decayed);
  }
}

TEST(SparseSums, EndTheirWarmUp) {
  Bits warm = bitsAfter(kPlain, 2, kTopk + "0.1, warmup = 2 : i64", 2),
       sparse = bitsAfter(kPlain, 2, kTopk + "0.1, warmup = 2 : i64", 3),
       dense = bitsAfter(kPlain, 2, kTopk + "0.1, warmup = 3 : i64", 3);
  EXPECT_NE(sparse.at("w"), dense.at("w"));
  EXPECT_EQ(bitsAfter(kPlain, 2, kTopk + "0.1, warmup = 3 : i64", 2).at("w"),
            warm.at("w"));
}

/// An infinite number on one rank alone: no rank takes the step, and what each
/// keeps stays as it is.
TEST(SparseSums, KeepResidualsInStepsThatAreSkipped) {
  for (const char *guard :
       {"on_nonfinite = \"skip\"", "loss_scale = {type = \"dynamic\"}",
        "loss_scale = {type = \"group\", groups = [[\"v\", \"a\"], [\"w\", "
        "\"b\"]], initial = [64.0, 8.0]}"}) {
    SCOPED_TRACE(guard);
    RankSessions group(
        artifactOf(onRanks(kDense, kPlain + ", " + guard,
                           kTopk + "0.1, ranks = 2 : i64, "
                                   "momentum_correction = true")),
        2);
    NamedTensors batch = batchOf(group.on(0), 0, 2);
    group.run("train", batch);
    auto kept = [&](int rank) {
      return std::pair(stateOf(group, rank, "kept/residual/w"),
                       stateOf(group, rank, "kept/momentum/w"));
    };
    std::vector before = {kept(0), kept(1)};
    EXPECT_NE(before[0], before[1]);
    Bits shared = group.replicated(0);
    batch.at("x").floats.back() = INFINITY;
    group.run("train", batch);
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_EQ(kept(rank), before[static_cast<size_t>(rank)]);
    EXPECT_EQ(group.replicated(0).at("w"), shared.at("w"));
    group.expectReplicas();
  }
}

/// A group of parameters that rests for some updates keeps what it has not
/// sent.
TEST(SparseSums, KeepResidualsOfWhatIsFrozenForAWhile) {
  RankSessions group(
      artifactOf(onRanks(kDense,
                         kPlain + ", gradient_freeze = {groups = 2 : i64, "
                                  "strategy = [0 : i64, 1 : i64]}",
                         kTopk + "0.1, ranks = 2 : i64")),
      2);
  bool rested = false;
  for (int step = 0; step < 8; ++step) {
    Vector weights = stateOf(group, 0, "v"),
           kept = stateOf(group, 1, "kept/residual/v");
    group.run("train", batchOf(group.on(0), step, 2));
    if (stateOf(group, 0, "v") == weights) {
      rested = true;
      EXPECT_EQ(stateOf(group, 1, "kept/residual/v"), kept) << step;
    }
    group.expectReplicas();
  }
  EXPECT_TRUE(rested);
}

/// The number of ranks is that of training alone.
TEST(SparseSums, PredictOnAnyNumberOfRanks) {
  std::vector<char> artifact =
      artifactOf(onRanks(kDense, kPlain, kTopk + "0.1, ranks = 2 : i64"));
  for (int ranks : {1, 3}) {
    RankSessions group(artifact, ranks);
    EXPECT_EQ(group.run("predict", batchOf(group.on(0), 0, ranks)).size(),
              static_cast<size_t>(ranks));
  }
}
