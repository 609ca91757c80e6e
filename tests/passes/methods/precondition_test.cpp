// Directions of THOR and K-FAC on ranks are those of one process, in f64:
// whether each rank inverts all blocks, or a part of them.

#include "tests/passes/distribution/cases.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// A recipe with preconditioning by these keys; blocks of three make several
/// of each side, of which the last has padding.
std::string preconditioned(const std::string &keys,
                           const std::string &more = "") {
  return "loss = {type = \"softmax_cross_entropy\"}" + more +
         ", precondition = {damping = 0.1, block = 3 : i64, " + keys +
         "}, optimizer = {type = \"sgd\", learning_rate = 0.02, momentum = "
         "0.9}";
}

const std::vector<std::string> kKeys = {
    "type = \"thor\", refresh = {every = 4 : i64DEALT}",
    "type = \"thor\", refresh = {every = 1 : i64DEALT}",
    "type = \"thor\", refresh = {every = 4 : i64, spread = 2 : i64DEALT}",
    "type = \"kfac\", refresh = {every = 4 : i64, measure_every = 2 : "
    "i64DEALT}",
    "type = \"thor\", kl_clip = 0.01, refresh = {every = 4 : i64DEALT}"};

/// Expects one process's numbers on ranks that invert all, and on ranks that
/// deal blocks out, for each set of keys.
void expectDirections(const std::string &more = "",
                      std::function<void(int, Inputs &)> change = {}) {
  for (const std::string &keys : kKeys)
    for (int ranks : {2, 3})
      for (bool isDealt : {false, true}) {
        std::string recipe = preconditioned(
            replaced(keys, "DEALT", isDealt ? ", dealt = true" : ""), more);
        expectExact({.recipe = recipe,
                     .keys = ", ranks = " + std::to_string(ranks) + " : i64",
                     .steps = 20,
                     .change = change,
                     .tolerance = 1e-10},
                    ranks);
      }
}

/// The number of blocks that a rank inverts, by graph.
std::map<std::string, int64_t> invertedBlocks(const Case &test, int ranks) {
  std::map<std::string, int64_t> blocks;
  Ranks compiled(program(test, test.batch, /*isShared=*/true), ranks);
  compiled.program().walk([&](InverseOp inverse) {
    auto graph = inverse->getParentOfType<GraphOp>();
    blocks[graph.getSymName().str()] += inverse.getType().getDimSize(0);
  });
  return blocks;
}

} // namespace

TEST(PreconditionOnRanks, IsThatOfAllSamples) { expectDirections(); }

TEST(PreconditionOnRanks, CountsTheLabelsOfAll) {
  expectDirections("", ignore);
}

TEST(PreconditionOnRanks, MeasuresInEachBatchOfAnUpdate) {
  expectDirections(", accumulation = 2 : i64");
}

// What one rank cannot measure is measured again by all.
TEST(PreconditionOnRanks, RefreshesAgainAfterAnOverflowOfOne) {
  auto overflow = [](int step, Inputs &inputs) {
    if (step % 4 == 0)
      inputs[0].floats.back() = HUGE_VAL;
  };
  expectDirections(", loss_scale = {type = \"dynamic\", initial = 16.0, "
                   "window = 3 : i64}",
                   overflow);
}

// The numbers are the same whether ranks deal blocks out or not, so what each
// inverts is counted.
TEST(PreconditionOnRanks, InvertsAPartOfTheBlocksWhereTheyAreDealt) {
  for (const std::string &keys : kKeys)
    for (int ranks : {2, 3}) {
      SCOPED_TRACE(keys);
      auto blocks = [&](const char *dealt) {
        return invertedBlocks(
            {.recipe = preconditioned(replaced(keys, "DEALT", dealt)),
             .keys = ", ranks = " + std::to_string(ranks) + " : i64"},
            ranks);
      };
      auto all = blocks(""), parts = blocks(", dealt = true");
      EXPECT_FALSE(all.empty());
      EXPECT_EQ(parts.size(), all.size());
      for (const auto &[graph, count] : all)
        EXPECT_LT(parts[graph], count) << graph;
    }
}
