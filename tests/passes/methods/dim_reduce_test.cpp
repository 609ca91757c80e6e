// Steps in a subspace on ranks are those of one process, in f64: what it
// decides by comparing numbers, too.

#include "subspace_text.h"
#include "tests/passes/distribution/cases.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// BFGS divides by products of small differences, by which what f64 rounds off
/// grows in the steps of a run.
constexpr double kTolerance = 1e-8;

const std::string kBasis = basisText(3, {{"w1", "3x8", 24}, {"w2", "8x4", 32}});
const std::string kBasisWithNorm =
    basisText(3, {{"w1", "3x8", 24}, {"w2", "8x4", 32}, {"scale", "8", 8}});

/// A loss with directions that are tried; `more` are keys of the recipe, and
/// `own` those of `dim_reduce`.
std::string reduced(const std::string &loss, const std::string &more = "",
                    const std::string &own = "") {
  return "loss = {" + loss + "}" + more +
         ", dim_reduce = {basis = \"basis.safetensors\"" + own +
         "}, optimizer = {type = "
         "\"sgd\", learning_rate = 0.05, momentum = 0.9}";
}

const std::string kSteep = "type = \"softmax_cross_entropy\", weight = 40.0";

int64_t acceptedOf(StateMap states) {
  return states["dim_reduce/accepted"].integers.at(0);
}

/// Expects one process's numbers on ranks; some of `updates` are accepted, and
/// some are not.
void expectTrials(Case test, int updates = 20, std::vector<int> all = {2, 3}) {
  test.steps = 20;
  test.tolerance = kTolerance;
  if (test.states.empty())
    test.states = kBasis;
  for (int ranks : all) {
    int64_t accepted = acceptedOf(expectExact(test, ranks));
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, updates);
  }
}

/// Expects one process's numbers where each rank has a part of `directions`.
void expectDealt(Case test, int64_t directions, int updates = 20) {
  for (int ranks : {2, 3}) {
    test.keys = ", ranks = " + std::to_string(ranks) + " : i64";
    test.states = basisText(directions, {{"w1", "3x8", 24}, {"w2", "8x4", 32}});
    expectTrials(test, updates, {ranks});
  }
}

const std::string kDealt = ", dealt = true";

} // namespace

TEST(DimReduceOnRanks, IsThatOfAllSamples) {
  expectTrials({.recipe = reduced(kSteep)});
}

TEST(DimReduceOnRanks, DrawsAsOneProcess) {
  expectTrials(
      {.recipe = reduced(kSteep, ", metrics = [\"accuracy\", "
                                 "\"gradient_norm\"], seed = 3 : i64")});
}

// A rank without a label that counts accepts what the others do.
TEST(DimReduceOnRanks, TriesByTheLabelsOfAll) {
  expectTrials({.recipe = reduced(kSteep), .change = ignore});
}

TEST(DimReduceOnRanks, TriesBySums) {
  expectTrials(
      {.recipe = reduced("type = \"mse\", reduction = \"sum\", weight = 0.1"),
       .hasValues = true});
}

// Means over the samples of three ranks have a factor that f32 rounds.
TEST(DimReduceOnRanks, TriesByBatchStatisticsOfAll) {
  expectTrials({.recipe = reduced(kSteep),
                .keys = ", batch_norm = \"synchronized\"",
                .norm = kBatchNorm,
                .states = kBasisWithNorm},
               20, {2, 4});
}

TEST(DimReduceOnRanks, TriesOnTheLastBatchOfAnUpdate) {
  expectTrials({.recipe = reduced(kSteep, ", accumulation = 2 : i64")}, 10);
}

TEST(DimReduceOnRanks, SkipsOnAllRanksOrNone) {
  auto overflow = [](int step, Inputs &inputs) {
    if (step % 5 == 2)
      inputs[0].floats.back() = HUGE_VAL;
  };
  expectTrials({.recipe = reduced(kSteep, ", loss_scale = {type = \"dynamic\", "
                                          "initial = 16.0, window = 3 : i64}"),
                .change = overflow});
}

//===-- rows that ranks share out -----------------------------------------===//

/// Rows that two and three ranks divide, rows with some of zeros behind them,
/// and fewer than there are ranks, in which all of the 20 steps may be
/// accepted.
TEST(DimReduceOnRanks, MayShareOutAnyNumberOfRows) {
  for (int64_t directions : {6, 5, 4, 3, 2, 1})
    expectDealt({.recipe = reduced(kSteep, "", kDealt)}, directions,
                directions < 3 ? 21 : 20);
}

TEST(DimReduceOnRanks, SharesOutRowsByTheLabelsOfAll) {
  expectDealt({.recipe = reduced(kSteep, "", kDealt), .change = ignore}, 5);
}

TEST(DimReduceOnRanks, SharesOutRowsByBatchStatisticsOfAll) {
  for (int ranks : {2, 4})
    expectTrials({.recipe = reduced(kSteep, "", kDealt),
                  .keys = ", batch_norm = \"synchronized\", ranks = " +
                          std::to_string(ranks) + " : i64",
                  .norm = kBatchNorm,
                  .states = kBasisWithNorm},
                 20, {ranks});
}

TEST(DimReduceOnRanks, SharesOutRowsInTheLastBatchOfAnUpdate) {
  expectDealt({.recipe = reduced(kSteep, ", accumulation = 2 : i64", kDealt)},
              5, 10);
}

TEST(DimReduceOnRanks, SharesOutRowsWhereStepsAreSkipped) {
  auto overflow = [](int step, Inputs &inputs) {
    if (step % 5 == 2)
      inputs[0].floats.back() = HUGE_VAL;
  };
  expectDealt({.recipe = reduced(kSteep,
                                 ", loss_scale = {type = \"dynamic\", initial "
                                 "= 16.0, window = 3 : i64}",
                                 kDealt),
               .change = overflow},
              5);
}

/// A rank has a part of the rows, and the same of all else.
TEST(DimReduceOnRanks, KeepsAPartOfTheRows) {
  for (int count : {2, 3, 4}) {
    Case test{.recipe = reduced(kSteep, "", kDealt),
              .keys = ", ranks = " + std::to_string(count) + " : i64",
              .states = kBasis};
    Ranks ranks(program(test, test.batch, true), count);
    for (auto state : ranks.program().getBody().getOps<StateOp>()) {
      auto type = mlir::cast<mlir::RankedTensorType>(state.getType());
      if (state.getSymName().starts_with("dim_reduce/basis/"))
        EXPECT_EQ(type.getDimSize(0), count == 2 ? 2 : 1);
      else
        EXPECT_FALSE(state->hasAttr(kPartOf));
    }
  }
}
