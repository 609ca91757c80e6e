// Steps in a subspace on several ranks are those of one process with the
// samples of all: the same projections, trials and decisions.

#include "one_process.h"

#include "tests/passes/methods/subspace_text.h"

using namespace gradus;

namespace {

constexpr int64_t kDirections = 3;
constexpr const char *kAccepted = "dim_reduce/accepted";

/// A program with random directions of its parameters.
std::string inSubspace(const std::string &program,
                       const std::vector<gradus::testing::SubspacePart> &parts,
                       int64_t directions = kDirections) {
  std::string whole = program;
  return whole.insert(whole.find("  gradus.state"),
                      gradus::testing::basisText(directions, parts));
}

std::string denseIn(int64_t directions) {
  return inSubspace(kDense,
                    {{"v", "16x12", 192},
                     {"a", "16", 16},
                     {"w", "10x16", 160},
                     {"b", "10", 10}},
                    directions);
}

const std::string kDenseSubspace = denseIn(kDirections);
const std::string kNormalizedSubspace =
    inSubspace(kNormalized, {{"v", "4x3x3x3", 108},
                             {"scale", "4", 4},
                             {"bias", "4", 4},
                             {"w", "10x4", 40}});

/// A recipe whose steps are tried; `more` are keys of it, and `own` those of
/// `dim_reduce`. The loss is multiplied by `weight`, so that whole steps are
/// long enough to be refused where it is large.
std::string reduced(double weight, const std::string &more = "",
                    const std::string &own = "") {
  return "loss = {type = \"softmax_cross_entropy\", weight = " +
         std::to_string(weight) + "}" + kKeepAll +
         ", dim_reduce = {basis = \"basis.safetensors\"" + own +
         "}, optimizer = {type = "
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

const std::string kDealt = ", dealt = true";
const std::string kRanks = ", ranks = RANKS";

/// The bytes of the basis that a session has in its memory.
size_t basisBytes(Compiled &compiled) {
  size_t bytes = 0;
  for (const runtime::StateInfo &state : compiled.session().states())
    if (state.name.starts_with("dim_reduce/basis/"))
      bytes += state.bytes;
  return bytes;
}

/// The rows of a basis on all ranks, one after the other.
std::vector<uint8_t> rowsOf(RankSessions &group, const std::string &name) {
  std::vector<uint8_t> rows;
  for (int rank = 0; rank < group.ranks(); ++rank) {
    runtime::Session &session = group.on(rank).session();
    auto bytes = session.stateBytes(session.findState(name));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    rows.insert(rows.end(), bytes->begin(), bytes->end());
  }
  return rows;
}

} // namespace

TEST(Subspace, IsThatOfAllSamples) {
  expectTrials({.program = kDenseSubspace.c_str(), .recipe = reduced(6)});
}

/// A gradient in the subspace sums 156 products of either sign, whose sizes are
/// together about sqrt(156) times the sum's. Those of a convolution in front of
/// a batch normalization are sums themselves that cancel.
TEST(Subspace, GoesThroughBatchStatisticsOfAllRanks) {
  expectTrials({.program = kNormalizedSubspace.c_str(),
                .recipe = reduced(6),
                .distribution = ", batch_norm = \"synchronized\"",
                .cancellation = 12});
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

//===-- rows that ranks share out -----------------------------------------===//

/// Three directions are a row of zeros more on two ranks; of one, ranks have
/// nothing but zeros.
TEST(Subspace, IsTheSameWhereRanksShareOutItsRows) {
  for (int64_t directions : {1, 3, 6, 7}) {
    SCOPED_TRACE(directions);
    std::string program = denseIn(directions);
    expectTrials({.program = program.c_str(),
                  .recipe = reduced(6, "", kDealt),
                  .distribution = kRanks});
  }
}

TEST(Subspace, IsSharedOutByTheLabelsOfAllRanks) {
  expectTrials({.program = kDenseSubspace.c_str(),
                .recipe = reduced(6, "", kDealt),
                .distribution = kRanks,
                .change = ignoreUnequally});
}

TEST(Subspace, IsSharedOutInTheLastBatchOfAnUpdate) {
  expectTrials({.program = kDenseSubspace.c_str(),
                .recipe = reduced(6, ", accumulation = 2 : i64", kDealt),
                .distribution = kRanks,
                .firstUpdate = 1},
               6);
}

TEST(Subspace, IsSharedOutWhereStepsAreSkipped) {
  expectTrials({.program = kDenseSubspace.c_str(),
                .recipe = reduced(6,
                                  ", loss_scale = {type = \"dynamic\", "
                                  "initial = 16.0, window = 3 : i64}",
                                  kDealt),
                .distribution = kRanks,
                .change = overflow});
}

/// With slots that are shared out, too, and gradients that travel in 16 bits.
TEST(Subspace, LeadsAllRanksThatShareItOutToTheSameWeights) {
  for (const char *distribution :
       {"", ", zero = 1 : i64", ", reduce = \"half\"",
        ", bucket_bytes = 512 : i64"})
    for (int ranks : ranksToTest()) {
      SCOPED_TRACE(distribution);
      RankSessions group(
          artifactOf(onRanks(
              kNormalizedSubspace.c_str(), reduced(6, "", kDealt),
              ", ranks = " + std::to_string(ranks) + " : i64" + distribution)),
          ranks);
      for (int step = 0; step < 20; ++step)
        group.run("train", batchOf(group.on(0), step, ranks));
      EXPECT_GT(acceptedOf(group.on(0).states()), 0);
      group.expectReplicas();
    }
}

/// Each rank has its rows from the artifact, which has all of them, and has
/// them again when it is reset.
TEST(Subspace, HasAPartOfTheRowsOnEachRank) {
  const std::string name = "dim_reduce/basis/w";
  Compiled alone(filled(kDenseSubspace, kSamples, reduced(6, "", kDealt)),
                 oneThread());
  auto bytes = alone.session().stateBytes(alone.session().findState(name));
  ASSERT_TRUE(bytes.ok());
  std::vector<uint8_t> all(bytes->begin(), bytes->end());
  for (int ranks : {2, 3, 4}) {
    RankSessions group(
        artifactOf(onRanks(kDenseSubspace.c_str(), reduced(6, "", kDealt),
                           ", ranks = " + std::to_string(ranks) + " : i64")),
        ranks);
    int64_t rows = (kDirections + ranks - 1) / ranks;
    EXPECT_EQ(basisBytes(group.on(0)) * kDirections, basisBytes(alone) * rows);
    std::vector<uint8_t> expected = all;
    expected.resize(all.size() / kDirections * rows * ranks);
    EXPECT_EQ(rowsOf(group, name), expected);
    group.run("train", batchOf(group.on(0), 0, ranks));
    group.onEach([&](int rank) {
      EXPECT_TRUE(group.on(rank).session().resetStates().ok());
    });
    EXPECT_EQ(rowsOf(group, name), expected);
  }
}
