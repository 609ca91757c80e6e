// AdaSum over ranks, through recipe, passes and executor.
//
// Vectors that are given as gradients show the formula. What stands around it
// is shown by what each rank's step would change alone: ranks with samples of
// their own move by the AdaSum of that.

#include "programs.h"
#include "sessions.h"

#include "ir/philox.h"
#include "tests/runtime/collectives/group_ranks.h"

#include <cmath>

using namespace gradus;

namespace {

const std::string kAdasum = ", reduce = \"adasum\"";

/// Tensors of these types that move against inputs: `a` against `g_a`.
std::string
movedTensors(const std::vector<std::pair<std::string, std::string>> &tensors,
             const std::string &distribution, const std::string &optimizer) {
  std::string states, inputs, updates;
  for (const auto &[name, shape] : tensors) {
    std::string type = " : tensor<" + shape + "xf32>";
    states += "gradus.state @" + name + type +
              " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
    inputs += (inputs.empty() ? "%g_" : ", %g_") + name + type;
    updates += "gradus.update @" + name + ", %g_" + name + type + "\n";
  }
  return "gradus.program @p attributes {recipe = {optimizer = " + optimizer +
         ", distribution = {mode = \"data_parallel\"" + kAdasum + distribution +
         "}}} {\n" + states + "gradus.graph @train(" + inputs + ") {\n" +
         updates + "gradus.return\n}\n}";
}

const std::string kOneStep = "{type = \"sgd\", learning_rate = 1.0}";

/// Two tensors that move against their inputs.
std::string moved(const std::string &distribution,
                  const std::string &optimizer = kOneStep) {
  return movedTensors({{"a", "5"}, {"b", "3x11"}}, distribution, optimizer);
}

/// Gradients of all ranks, one behind the other.
NamedTensors gradientsOf(int ranks, int step = 0) {
  NamedTensors all;
  for (auto [name, size] : {std::pair("g_a", 5), {"g_b", 33}}) {
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
    for (auto [state, gradient] : {std::pair("a", "g_a"), {"b", "g_b"}})
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
                    runtime::meansOf(byRank(gradients.at("g_b"), ranks),
                                     static_cast<size_t>(std::min(ranks, 2)))));
    group.expectReplicas();
  }
}

TEST(Adasum, TakesTheModelAsOneVector) {
  RankSessions group(artifactOf(moved(", adasum = {per = \"model\"}")), 3);
  NamedTensors gradients = gradientsOf(3);
  group.run("train", gradients);
  std::vector<std::vector<double>> vectors = byRank(gradients.at("g_a"), 3);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<double> more = ofRank(gradients.at("g_b"), rank, 3);
    vectors[static_cast<size_t>(rank)].insert(
        vectors[static_cast<size_t>(rank)].end(), more.begin(), more.end());
  }
  std::vector<double> combined = runtime::adasumOfAll(vectors);
  expectMoved(group.on(0).states().at("a"),
              {combined.begin(), combined.begin() + 5});
  expectMoved(group.on(0).states().at("b"),
              {combined.begin() + 5, combined.end()});
}

/// Of one tensor what each rank has.
static std::vector<double>
combinedBy(const std::vector<std::vector<double>> &ranks) {
  HostTensor all;
  for (const std::vector<double> &own : ranks)
    all.floats.insert(all.floats.end(), own.begin(), own.end());
  all.shape = {static_cast<int64_t>(all.floats.size())};
  std::string length = std::to_string(ranks[0].size());
  RankSessions group(artifactOf(movedTensors({{"a", length}}, "", kOneStep)),
                     static_cast<int>(ranks.size()));
  group.run("train", {{"g_a", all}});
  group.expectReplicas();
  NamedTensors states = group.on(0).states();
  std::vector<double> change;
  for (double weight : states.at("a").floats)
    change.push_back(-weight);
  return change;
}

static void expectNear(const std::vector<double> &found,
                       const std::vector<double> &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  double largest = 0;
  for (double each : wanted)
    largest = std::max(largest, std::fabs(each));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6 * largest) << i;
}

/// Four ranks of boost.md 7.8.
TEST(Adasum, GivesKnownNumbers) {
  expectNear(
      combinedBy({{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 2, 0}, {0, 1, 1, 1}}),
      {1.10294118, 1.29858063, 2.06965174, 0.63681592});
  expectNear(combinedBy(std::vector(4, std::vector<double>{1, 10})), {1, 10});
}

/// MindSpore's halves are wrong or hang where a tensor is shorter than there
/// are servers, and its epsilon halves what is small.
TEST(Adasum, SumsOrthogonalAndAveragesParallelVectorsOfAnyLengthAndSize) {
  for (double size : {1.0, 1e-20}) {
    expectNear(combinedBy({{3 * size}, {3 * size}, {3 * size}}), {3 * size});
    expectNear(combinedBy({{size}, {2 * size}}), {1.5 * size});
    expectNear(combinedBy({{size, 0, 0}, {0, -2 * size, 0}, {0, 0, 4 * size}}),
               {size, -2 * size, 4 * size});
    expectNear(combinedBy({{size, 0, 0}, {0, 0, 0}}), {size, 0, 0});
  }
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
      for (std::vector<double> own : byRank(gradients.at("g_a"), ranks)) {
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

using Vectors = std::map<std::string, std::vector<double>>; // by parameter

/// Ranks that train together, and what they are to do.
struct Around {
  const char *program = kDense;
  std::string recipe;
  std::string adasum = ""; // more keys of distribution
  /// The recipe of a rank that trains alone, if it is another one.
  std::string alone = "";
  int ranks = 3, within = 1;
  bool isModel = false;
  int refresh = 0; // steps from one to the next in which curvature is measured
  /// Changes the inputs of all ranks, and what they combine.
  std::function<void(NamedTensors &batch, int step)> change = {};
  std::function<void(Vectors &)> finish = {};
};

/// Vectors of ranks as one for each: that of a tensor, or of all.
std::vector<std::vector<double>> joined(const std::vector<Vectors> &ranks,
                                        const std::string &name) {
  std::vector<std::vector<double>> vectors;
  for (const Vectors &own : ranks) {
    vectors.emplace_back();
    for (const auto &[each, vector] : own)
      if (name.empty() || each == name)
        vectors.back().insert(vectors.back().end(), vector.begin(),
                              vector.end());
  }
  return vectors;
}

/// The AdaSum of what each rank would change.
Vectors combined(const Around &how, const std::vector<Vectors> &ranks) {
  auto combine = [&](const std::string &name) {
    return runtime::adasumOfAll(
        runtime::meansOf(joined(ranks, name), static_cast<size_t>(how.within)));
  };
  Vectors all;
  if (!how.isModel) {
    for (const auto &[name, vector] : ranks[0])
      all[name] = combine(name);
    return all;
  }
  std::vector<double> model = combine("");
  auto next = model.begin();
  for (const auto &[name, vector] : ranks[0]) {
    auto end = next + static_cast<ptrdiff_t>(vector.size());
    all[name] = {next, end};
    next = end;
  }
  return all;
}

/// The ranks one by one, each as if it were alone.
class Alone {
public:
  Alone(const Around &how) {
    const std::string &recipe = how.alone.empty() ? how.recipe : how.alone;
    for (int rank = 0; rank < how.ranks; ++rank)
      sessions_.push_back(
          std::make_unique<Compiled>(filled(how.program, kSamples, recipe)));
  }

  /// Runs a step of each rank from states of all; what each changes.
  std::vector<Vectors> changes(const NamedTensors &before,
                               const NamedTensors &batch) {
    std::vector<Vectors> all;
    statistics.clear();
    for (size_t rank = 0; rank < sessions_.size(); ++rank) {
      Compiled &own = *sessions_[rank];
      runtime::Session &session = own.session();
      const auto &info =
          session.graphs()[static_cast<size_t>(session.findGraph("train"))];
      for (const auto &state : session.states())
        if (isOf(state, artifact::Role::parameter) ||
            isOf(state, artifact::Role::buffer) ||
            llvm::StringRef(state.name).starts_with("precondition/"))
          own.setState(state.name, before.at(state.name));
      own.run("train", partOf(batch, info, static_cast<int>(rank)));
      NamedTensors after = own.states();
      Vectors changes;
      for (const auto &state : session.states())
        if (isOf(state, artifact::Role::parameter))
          for (size_t i = 0; i < after.at(state.name).floats.size(); ++i)
            changes[state.name].push_back(before.at(state.name).floats[i] -
                                          after.at(state.name).floats[i]);
        else if (isOf(state, artifact::Role::buffer))
          addTo(statistics[state.name], after.at(state.name).floats);
      all.push_back(changes);
    }
    return all;
  }

  Vectors statistics; // the means of buffers after a step of each rank

private:
  static bool isOf(const runtime::StateInfo &state, artifact::Role role) {
    return state.role == role;
  }
  template <typename Floats>
  void addTo(std::vector<double> &mean, const Floats &floats) const {
    mean.resize(floats.size());
    for (size_t i = 0; i < floats.size(); ++i)
      mean[i] += floats[i] / static_cast<double>(sessions_.size());
  }

  std::vector<std::unique_ptr<Compiled>> sessions_;
};

double largestGap(const std::vector<double> &one,
                  const std::vector<double> &other) {
  double gap = 0;
  for (size_t i = 0; i < one.size(); ++i)
    gap = std::max(gap, std::fabs(one[i] - other[i]));
  return gap;
}

/// Expects each step of ranks with samples of their own to move parameters by
/// the AdaSum of what each rank would change alone.
void expectCombined(const Around &how) {
  SCOPED_TRACE(how.recipe + how.adasum);
  RankSessions group(
      artifactOf(onRanks(how.program, how.recipe, kAdasum + how.adasum)),
      how.ranks);
  Alone alone(how);
  double fromMean = 0; // how far AdaSum is from the mean
  for (int step = 0; step < 8; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    NamedTensors batch = batchOf(group.on(0), step, how.ranks);
    if (how.change)
      how.change(batch, step);
    NamedTensors before = group.on(0).states();
    group.run("train", batch);
    std::vector<Vectors> changes = alone.changes(before, batch);
    if (how.refresh && step % how.refresh == 0)
      continue; // A rank alone has another curvature.
    Vectors wanted = combined(how, changes);
    if (how.finish)
      how.finish(wanted);
    NamedTensors after = group.on(0).states();
    for (const auto &[name, change] : wanted) {
      std::vector<double> found;
      for (size_t i = 0; i < change.size(); ++i)
        found.push_back(before.at(name).floats[i] - after.at(name).floats[i]);
      EXPECT_LT(largestGap(found, change), 2e-6) << name;
      fromMean = std::max(
          fromMean, largestGap(found, runtime::meansOf(joined(changes, name),
                                                       size_t(how.ranks))[0]));
    }
    for (const auto &[name, mean] : alone.statistics)
      EXPECT_LT(largestGap(std::vector<double>(after.at(name).floats.begin(),
                                               after.at(name).floats.end()),
                           mean),
                2e-6)
          << name;
  }
  EXPECT_GT(fromMean, 1e-3) << "ranks with such samples show nothing";
  group.expectReplicas();
}

const std::string kDescent =
    ", optimizer = {type = \"sgd\", learning_rate = 0.5}";
const std::string kPlain = kCrossEntropy + kKeepAll + kDescent;
const std::string kOfWeights = ", adasum = {of = \"weights\"}";

} // namespace

TEST(Adasum, CombinesWhatRanksHaveOfTheirSamples) {
  expectCombined({.recipe = kPlain});
  expectCombined({.recipe = kPlain, .ranks = 2});
  expectCombined({.recipe = kPlain, .adasum = kOfWeights});
  expectCombined({.recipe = kPlain,
                  .adasum = ", adasum = {per = \"model\"}",
                  .isModel = true});
  expectCombined({.recipe = kPlain,
                  .adasum = ", adasum = {of = \"weights\", per = \"model\"}",
                  .isModel = true});
}

TEST(Adasum, CombinesUpdatesOfGroups) {
  for (const char *of : {"gradients", "weights"}) {
    const std::string keys =
        std::string(", adasum = {within = 2 : i64, of = \"") + of + "\"}";
    expectCombined({.recipe = kPlain, .adasum = keys, .ranks = 4, .within = 2});
    // A sum of two ranks is twice their mean.
    expectCombined({.recipe = kPlain,
                    .adasum = ", mean = false" + keys,
                    .ranks = 4,
                    .within = 2,
                    .finish = [](Vectors &all) {
                      for (auto &[name, vector] : all)
                        for (double &each : vector)
                          each *= 2;
                    }});
  }
}

/// Ranks multiply their own gradients by inverses of all samples' curvature.
TEST(Adasum, CombinesDirectionsOfSharedCurvature) {
  for (const char *type : {"thor", "kfac"})
    for (const std::string &keys :
         {kOfWeights, std::string(", adasum = {of = "
                                  "\"weights\", within = 2 : i64}")}) {
      int within = keys == kOfWeights ? 1 : 2;
      expectCombined({.recipe = kPlain + ", precondition = {type = \"" + type +
                                "\", damping = 0.3, refresh = {every = 4 : "
                                "i64}}",
                      .adasum = keys,
                      .ranks = 4,
                      .within = within,
                      .refresh = 4});
    }
}

TEST(Adasum, AccumulatesBeforeItCombines) {
  const std::string recipe = kPlain + ", accumulation = 2 : i64";
  expectCombined({.recipe = recipe});
  expectCombined({.recipe = recipe, .adasum = kOfWeights});
}

/// Clips what is combined, and of weights each rank's own gradient.
TEST(Adasum, ClipsWhatIsCombined) {
  constexpr double kNorm = 0.05;
  const std::string clipped =
      kPlain + ", clip = {type = \"global_norm\", value = 0.05}";
  expectCombined(
      {.recipe = clipped, .alone = kPlain, .finish = [](Vectors &all) {
         double square = 0;
         for (auto &[name, vector] : all)
           for (double each : vector)
             square += 4 * each * each; // of a rate of 0.5
         double factor = std::min(1.0, kNorm / (std::sqrt(square) + 1e-6));
         for (auto &[name, vector] : all)
           for (double &each : vector)
             each *= factor;
       }});
  expectCombined({.recipe = clipped, .adasum = kOfWeights});
}

/// Each rank in its turn has an infinite number, and none takes the step.
TEST(Adasum, SkipsStepsThatOverflowOnOneRank) {
  constexpr int kRanks = 3;
  auto overflows = [](int step) { return step % 2 == 1; };
  int step = 0;
  Around how{.recipe = "",
             .ranks = kRanks,
             .change =
                 [&](NamedTensors &batch, int number) {
                   step = number;
                   auto &floats = batch.at("x").floats;
                   size_t rank = size_t(number) / 2 % kRanks;
                   if (overflows(number))
                     floats[(rank + 1) * floats.size() / kRanks - 1] = INFINITY;
                 },
             .finish =
                 [&](Vectors &all) {
                   for (auto &[name, vector] : all)
                     for (double &each : vector)
                       each = overflows(step) ? 0 : each;
                 }};
  for (const char *scale :
       {"{type = \"dynamic\"}",
        "{type = \"group\", groups = [[\"v\", \"a\"], [\"w\", \"b\"]], "
        "initial = [64.0, 8.0]}"}) {
    how.recipe = kPlain + ", loss_scale = " + scale;
    for (const std::string &of : {std::string(), kOfWeights}) {
      how.adasum = of;
      expectCombined(how);
    }
  }
}

TEST(Adasum, LeavesStatisticsOfBatchesTheirMean) {
  expectCombined({.program = kNormalized, .recipe = kCrossEntropy + kDescent});
}

TEST(Adasum, CombinesWhatIsNotFrozen) {
  expectCombined({.recipe = kPlain +
                            ", gradient_freeze = {groups = 2 : i64, p = "
                            "0.5, total_steps = 64 : i64}"});
}

/// The mean of weights that asgd keeps is that of the weights of all ranks,
/// and no mean of what each would have had.
TEST(Adasum, LetsSlotsFollowTheWeightsOfAllRanks) {
  RankSessions group(
      artifactOf(moved(kOfWeights, "{type = \"asgd\", learning_rate = 0.5, "
                                   "lambda = 0.0, start = 0.0}")),
      3);
  std::vector<double> mean(5);
  for (int step = 0; step < 4; ++step) {
    group.run("train", gradientsOf(3, step));
    NamedTensors states = group.on(0).states();
    const auto &weights = states.at("a").floats;
    std::vector<double> found;
    for (const auto &[name, tensor] : states)
      if (name == "asgd/average/a")
        found.assign(tensor.floats.begin(), tensor.floats.end());
    ASSERT_EQ(found.size(), 5u);
    double count = std::max(1, step);
    for (size_t i = 0; i < 5; ++i)
      mean[i] += (weights[i] - mean[i]) / count;
    EXPECT_LT(largestGap(found, mean), 1e-6) << "step " << step;
  }
  group.expectReplicas();
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
