// Steps in a subspace on several ranks are those of one process with the
// samples of all: the same projections, trials and decisions.

#include "one_process.h"

#include "tests/passes/methods/subspace_text.h"

using namespace gradus;

namespace {

constexpr int64_t kDirections = 3;
constexpr const char *kAccepted = "dim_reduce/accepted";

/// A program with random directions of its parameters.
std::string
inSubspace(const std::string &program,
           const std::vector<gradus::testing::SubspacePart> &parts) {
  std::string whole = program;
  return whole.insert(whole.find("  gradus.state"),
                      gradus::testing::basisText(kDirections, parts));
}

const std::string kDenseSubspace = inSubspace(kDense, {{"v", "16x12", 192},
                                                       {"a", "16", 16},
                                                       {"w", "10x16", 160},
                                                       {"b", "10", 10}});
const std::string kNormalizedSubspace =
    inSubspace(kNormalized, {{"v", "4x3x3x3", 108},
                             {"scale", "4", 4},
                             {"bias", "4", 4},
                             {"w", "10x4", 40}});

/// A recipe whose steps are tried; `more` are keys of it. The loss is
/// multiplied by `weight`, so that whole steps are long enough to be refused
/// where it is large.
std::string reduced(double weight, const std::string &more = "") {
  return "loss = {type = \"softmax_cross_entropy\", weight = " +
         std::to_string(weight) + "}" + kKeepAll +
         ", dim_reduce = {basis = \"basis.safetensors\"}, optimizer = {type = "
         "\"sgd\", learning_rate = 0.01, momentum = 0.9}" +
         more;
}

int64_t acceptedOf(const NamedTensors &states) {
  return states.at(kAccepted).integers.at(0);
}

/// Expects one process's numbers, in the first steps: BFGS divides by what is
/// small where batches differ, so that what f32 rounds off in another order
/// grows (tests/passes/methods/dim_reduce_test.cpp compares more steps, in
/// f64).
void expectTrials(Case wanted, int steps = 4) {
  wanted.steps = steps;
  EXPECT_GT(acceptedOf(expectOneProcess(wanted)), 0);
}

} // namespace

TEST(Subspace, IsThatOfAllSamples) {
  expectTrials({.program = kDenseSubspace.c_str(), .recipe = reduced(6)});
}

TEST(Subspace, GoesThroughBatchStatisticsOfAllRanks) {
  expectTrials({.program = kNormalizedSubspace.c_str(),
                .recipe = reduced(6),
                .distribution = ", batch_norm = \"synchronized\""});
}

/// A rank without counted labels accepts what the others do.
TEST(Subspace, IsTriedByTheLabelsOfAllRanks) {
  expectTrials({.program = kDenseSubspace.c_str(),
                .recipe = reduced(6),
                .change = ignoreUnequally});
}

TEST(Subspace, IsTriedOnTheLastBatchOfAnUpdate) {
  expectTrials({.program = kDenseSubspace.c_str(),
                .recipe = reduced(6, ", accumulation = 2 : i64"),
                .firstUpdate = 1},
               6);
}

/// One rank overflows, and no rank moves.
TEST(Subspace, IsLeftAloneOnAllRanksAfterAnOverflow) {
  expectTrials({.program = kDenseSubspace.c_str(),
                .recipe = reduced(6, ", loss_scale = {type = \"dynamic\", "
                                     "initial = 16.0, window = 3 : i64}"),
                .change = overflow});
}

/// Ranks try what one process would not, and all accept the same.
TEST(Subspace, LeadsAllRanksToTheSameWeights) {
  for (const char *distribution :
       {", reduce = \"half\"", ", reduce = \"bf16\"",
        ", batch_norm = \"average\"", ", batch_norm = \"local\"",
        ", loss_mean = \"rank\"", ", local_clip = 0.01"}) {
    SCOPED_TRACE(distribution);
    std::vector<char> artifact = artifactOf(
        onRanks(kNormalizedSubspace.c_str(), reduced(6), distribution));
    for (int ranks : ranksToTest()) {
      RankSessions group(artifact, ranks);
      for (int step = 0; step < 20; ++step) {
        NamedTensors batch = batchOf(group.on(0), step, ranks);
        ignoreUnequally(batch, step, ranks);
        group.run("train", batch);
      }
      EXPECT_GT(acceptedOf(group.on(0).states()), 0);
      group.expectReplicas();
    }
  }
}
