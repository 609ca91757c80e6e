// Curvature is that of the samples of all ranks: directions of THOR and K-FAC
// are those of one process.

#include "one_process.h"

#include <set>

using namespace gradus;

namespace {

/// A table of words, a layer normalization and two dense layers.
const char *const kWords = R"(
gradus.program @words attributes {recipe = {RECIPE}} {
  gradus.state @table : tensor<10x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
  gradus.state @scale : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @v : tensor<12x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @w : tensor<10x12xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<SAMPLESxi64>) -> (logits: tensor<SAMPLESx10xf32>) {
    %table = gradus.read @table : tensor<10x8xf32>
    %scale = gradus.read @scale : tensor<8xf32>
    %v = gradus.read @v : tensor<12x8xf32>
    %w = gradus.read @w : tensor<10x12xf32>
    %0 = gradus.gather %table at %x axis 0 : tensor<10x8xf32>, tensor<SAMPLESxi64> -> tensor<SAMPLESx8xf32>
    %1 = gradus.layer_norm %0, %scale {epsilon = 1.0e-5 : f64} : tensor<SAMPLESx8xf32>, tensor<8xf32>
    %2 = gradus.matmul %1, %v transposed : tensor<SAMPLESx8xf32>, tensor<12x8xf32> -> tensor<SAMPLESx12xf32>
    %3 = gradus.relu %2 : tensor<SAMPLESx12xf32>
    %4 = gradus.matmul %3, %w transposed : tensor<SAMPLESx12xf32>, tensor<10x12xf32> -> tensor<SAMPLESx10xf32>
    gradus.return %4 : tensor<SAMPLESx10xf32>
  }
})";

/// A dense layer that two halves of a sample go through, and one behind it.
const char *const kShared = R"(
gradus.program @shared attributes {recipe = {RECIPE}} {
  gradus.state @v : tensor<12x6xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @a : tensor<12xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<10x12xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<SAMPLESx12xf32>) -> (logits: tensor<SAMPLESx10xf32>) {
    %v = gradus.read @v : tensor<12x6xf32>
    %a = gradus.read @a : tensor<12xf32>
    %w = gradus.read @w : tensor<10x12xf32>
    %bias = gradus.broadcast %a dims [1] : tensor<12xf32> -> tensor<SAMPLESx12xf32>
    %left = gradus.slice %x starts [0, 0] steps [1, 1] : tensor<SAMPLESx12xf32> -> tensor<SAMPLESx6xf32>
    %right = gradus.slice %x starts [0, 6] steps [1, 1] : tensor<SAMPLESx12xf32> -> tensor<SAMPLESx6xf32>
    %0 = gradus.matmul %left, %v transposed : tensor<SAMPLESx6xf32>, tensor<12x6xf32> -> tensor<SAMPLESx12xf32>
    %1 = arith.addf %0, %bias : tensor<SAMPLESx12xf32>
    %2 = math.tanh %1 : tensor<SAMPLESx12xf32>
    %3 = gradus.matmul %right, %v transposed : tensor<SAMPLESx6xf32>, tensor<12x6xf32> -> tensor<SAMPLESx12xf32>
    %4 = arith.addf %3, %bias : tensor<SAMPLESx12xf32>
    %5 = math.tanh %4 : tensor<SAMPLESx12xf32>
    %6 = arith.mulf %2, %5 : tensor<SAMPLESx12xf32>
    %7 = arith.addf %6, %5 : tensor<SAMPLESx12xf32>
    %8 = gradus.matmul %7, %w transposed : tensor<SAMPLESx12xf32>, tensor<10x12xf32> -> tensor<SAMPLESx10xf32>
    gradus.return %8 : tensor<SAMPLESx10xf32>
  }
})";

/// A recipe whose directions are preconditioned; `more` are keys of it. An
/// inverse enlarges what is rounded off in a factor A by up to |A| by the root
/// of the damping, so that this is no small one.
std::string preconditioned(const std::string &type,
                           const std::string &more = "") {
  return kCrossEntropy + kKeepAll + ", precondition = {type = \"" + type +
         "\", damping = 0.3, refresh = {every = 4 : i64}" + more +
         "}, optimizer = {type = \"sgd\", learning_rate = 0.01, momentum = "
         "0.9}";
}

/// The same recipe with inverses that are dealt to the ranks.
std::string dealt(std::string recipe) {
  const std::string every = "every = 4 : i64";
  return recipe.insert(recipe.find(every) + every.size(), ", dealt = true");
}

const std::string kRanks = ", ranks = RANKS";
/// Some blocks of each side, of which the last may be padded.
const std::string kSmallBlocks = ", block = 4 : i64";
const std::string kKinds = ", kinds = [\"dense\", \"convolution\", "
                           "\"embedding\", \"layer_norm\"]";
const std::string kSynchronized = ", batch_norm = \"synchronized\"";

/// The keys of `distribution` for a number of ranks.
std::string keysFor(std::string distribution, int ranks) {
  const std::string number = "RANKS";
  return distribution.replace(distribution.find(number), number.size(),
                              std::to_string(ranks) + " : i64");
}

/// The number of blocks that a rank inverts in a refresh.
int64_t invertedBlocks(const Case &wanted, int ranks) {
  Evaluated step(onRanks(wanted.program, wanted.recipe,
                         keysFor(wanted.distribution, ranks)));
  int64_t blocks = 0;
  mlir::Block &body = step.graph("train_refresh").getBody().front();
  for (auto inverse : body.getOps<InverseOp>())
    blocks += inverse.getType().getDimSize(0);
  return blocks;
}

/// Expects that ranks train as one process where their inverses are dealt to
/// them, and that each inverts fewer blocks than all.
void expectDealt(const Case &all) {
  Case parts = all;
  parts.recipe = dealt(all.recipe);
  expectOneProcess(parts);
  for (int ranks : ranksToTest())
    if (ranks > 1)
      EXPECT_LT(invertedBlocks(parts, ranks), invertedBlocks(all, ranks))
          << ranks << " ranks";
}

const std::string kDynamicScale =
    ", loss_scale = {type = \"dynamic\", initial = 16.0, window = 3 : i64}";

/// Whether a step has no result: the first one, and each later one that makes
/// the next refresh, of every fourth update.
bool isOverflow(int step) { return step % 5 == 0; }

/// Lets refreshes overflow on the last rank.
void overflowInRefreshes(NamedTensors &batch, int step, int) {
  if (isOverflow(step))
    batch.at("x").floats.back() = INFINITY;
}

/// The measured factors and inverses.
NamedTensors curvatureOf(const NamedTensors &states) {
  NamedTensors found;
  for (const auto &[name, tensor] : states)
    if (llvm::StringRef(name).starts_with("precondition/"))
      found[name] = tensor;
  return found;
}

/// The names of tensors that differ.
std::set<std::string> differing(const NamedTensors &before,
                                const NamedTensors &after) {
  std::set<std::string> names;
  for (const auto &[name, tensor] : before)
    if (tensor.floats != after.at(name).floats ||
        tensor.integers != after.at(name).integers)
      names.insert(name);
  return names;
}

struct Curvature : testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Curvature, testing::Values("thor", "kfac"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace

TEST_P(Curvature, OfDenseLayersIsThatOfAllSamples) {
  expectOneProcess({.recipe = preconditioned(GetParam())});
}

TEST_P(Curvature, OfConvolutionsIsThatOfAllSamples) {
  expectOneProcess({.program = kNormalized,
                    .recipe = preconditioned(GetParam()),
                    .distribution = kSynchronized});
}

TEST_P(Curvature, OfWordsIsThatOfAllSamples) {
  expectOneProcess({.program = kWords,
                    .recipe = preconditioned(GetParam(), kKinds),
                    .change = ignoreUnequally});
}

TEST_P(Curvature, OfJoinedBiasesIsThatOfAllSamples) {
  std::string recipe = preconditioned(GetParam(), ", bias = \"joined\"");
  expectOneProcess({.recipe = recipe});
  expectOneProcess({.program = kNormalized,
                    .recipe = recipe,
                    .distribution = kSynchronized});
}

TEST_P(Curvature, OfUsesOfAWeightIsThatOfAllSamples) {
  for (const char *bias : {"", ", bias = \"joined\""}) {
    NamedTensors states =
        expectOneProcess({.program = kShared,
                          .recipe = preconditioned(GetParam(), bias),
                          .change = ignoreUnequally});
    int64_t inputs = *bias ? 7 : 6;
    EXPECT_EQ(states.at("precondition/inputs/v").shape,
              (llvm::SmallVector<int64_t>{1, inputs, inputs}));
  }
}

TEST_P(Curvature, CountsTheLabelsOfAllRanks) {
  expectOneProcess(
      {.recipe = preconditioned(GetParam()), .change = ignoreUnequally});
}

TEST_P(Curvature, OfASumIsThatOfAllSamples) {
  std::string recipe = preconditioned(GetParam());
  recipe.replace(0, kCrossEntropy.size(),
                 "loss = {type = \"softmax_cross_entropy\", reduction = "
                 "\"sum\", weight = 0.1}");
  expectOneProcess({.recipe = recipe, .change = ignoreUnequally});
}

TEST_P(Curvature, IsMeasuredInEachBatchOfAnUpdate) {
  expectOneProcess(
      {.recipe = preconditioned(GetParam()) + ", accumulation = 3 : i64",
       .firstUpdate = 2});
}

/// In each batch of an update other labels count, on each rank.
TEST_P(Curvature, OfLayerNormsCountsTheLabelsOfAnUpdate) {
  auto change = [](NamedTensors &batch, int step, int ranks) {
    if (step % 3 == 1)
      ignoreUnequally(batch, step, ranks);
  };
  expectOneProcess({.program = kWords,
                    .recipe = preconditioned(GetParam(), kKinds) +
                              ", accumulation = 3 : i64",
                    .change = change,
                    .firstUpdate = 2});
}

TEST_P(Curvature, RefreshesAgainOnAllRanksAfterAnOverflow) {
  expectOneProcess({.recipe = preconditioned(GetParam()) + kDynamicScale,
                    .change = overflowInRefreshes,
                    .firstUpdate = 1});
}

/// Each rank inverts a part of the blocks.
TEST_P(Curvature, OfDealtBlocksIsThatOfAllSamples) {
  expectDealt({.recipe = preconditioned(GetParam(), kSmallBlocks),
               .distribution = kRanks});
  expectDealt({.program = kNormalized,
               .recipe = preconditioned(GetParam(), kSmallBlocks),
               .distribution = kRanks + kSynchronized});
  expectDealt({.program = kWords,
               .recipe = preconditioned(GetParam(), kSmallBlocks + kKinds),
               .distribution = kRanks,
               .change = ignoreUnequally});
}

TEST_P(Curvature, IsDealtInTheLastBatchOfAnUpdate) {
  expectDealt({.recipe = preconditioned(GetParam(), kSmallBlocks) +
                         ", accumulation = 3 : i64",
               .distribution = kRanks,
               .firstUpdate = 2});
}

TEST_P(Curvature, IsDealtAgainAfterAnOverflow) {
  expectDealt(
      {.recipe = preconditioned(GetParam(), kSmallBlocks) + kDynamicScale,
       .distribution = kRanks,
       .change = overflowInRefreshes,
       .firstUpdate = 1});
}

/// A refresh that is skipped changes neither factors nor inverses, and the next
/// step is the refresh.
TEST_P(Curvature, IsKeptWhereARefreshOverflows) {
  const std::string all =
      preconditioned(GetParam(), kSmallBlocks) + kDynamicScale;
  for (const std::string &recipe : {all, dealt(all)})
    for (int ranks : ranksToTest()) {
      SCOPED_TRACE(recipe + " on " + std::to_string(ranks));
      RankSessions group(
          artifactOf(onRanks(kDense, recipe, keysFor(kRanks, ranks))), ranks);
      for (int step = 0; step < 12; ++step) {
        NamedTensors batch = batchOf(group.on(0), step, ranks),
                     before = group.on(0).states();
        bool isRefresh = before.at("step/variant").integers[0] == 1;
        EXPECT_EQ(isRefresh, step % 5 < 2) << step;
        overflowInRefreshes(batch, step, ranks);
        group.run("train", batch);
        auto changed =
            differing(curvatureOf(before), curvatureOf(group.on(0).states()));
        EXPECT_EQ(!changed.empty(), isRefresh && !isOverflow(step)) << step;
      }
      group.expectReplicas();
    }
}

/// Equal samples have factors of rank 1, in which a small damping is lost, so
/// that their blocks have no inverse: in the first refresh and in a later one.
TEST_P(Curvature, IsKeptWhereBlocksThatAreDealtHaveNoInverse) {
  std::string recipe = preconditioned(GetParam(), kSmallBlocks);
  const std::string damping = "damping = 0.3", rate = "learning_rate = 0.01";
  recipe.replace(recipe.find(damping), damping.size(), "damping = 1.0e-8");
  recipe.replace(recipe.find(rate), rate.size(), "learning_rate = 1.0e-6");
  for (int ranks : ranksToTest())
    for (int equal : {0, 4}) {
      SCOPED_TRACE(std::to_string(equal) + " on " + std::to_string(ranks));
      const std::string keys = keysFor(kRanks, ranks);
      RankSessions all(artifactOf(onRanks(kDense, recipe, keys)), ranks),
          parts(artifactOf(onRanks(kDense, dealt(recipe), keys)), ranks);
      for (int step = 0; step < 9; ++step) {
        NamedTensors batch = batchOf(all.on(0), step, ranks);
        std::vector<double> &numbers = batch.at("x").floats;
        for (size_t i = 0; step == equal && i < numbers.size(); ++i)
          numbers[i] = 65536.0 * static_cast<double>(i % 12 + 1);
        all.run("train", batch);
        parts.run("train", batch);
        NamedTensors states = parts.on(0).states();
        EXPECT_EQ(states.at("precondition/kept").integers[0] > 0, step >= equal)
            << step;
        EXPECT_EQ(parts.replicated(0), all.replicated(0)) << step;
      }
      for (const auto &[name, tensor] : parts.on(0).states())
        for (double number : tensor.floats)
          ASSERT_TRUE(std::isfinite(number)) << name;
      parts.expectReplicas();
    }
}

/// Ranks of one group make the same update, each of its own.
TEST_P(Curvature, OfWeightsByAdasumIsThatOfAllSamples) {
  const std::string group =
      ", reduce = \"adasum\", adasum = {of = \"weights\", within = RANKS}";
  expectOneProcess(
      {.recipe = preconditioned(GetParam()), .distribution = group});
  expectOneProcess({.program = kWords,
                    .recipe = preconditioned(GetParam(), kKinds),
                    .distribution = group,
                    .change = ignoreUnequally});
}

/// A block has one inverse, whoever computes it. Those of 3 rows end within a
/// line of 64 bytes.
TEST(CurvatureOnRanks, HasTheBitsOfARankThatInvertsAll) {
  for (const char *block : {", block = 4 : i64", ", block = 3 : i64"})
    for (int ranks : ranksToTest()) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks" + block);
      const std::string recipe = preconditioned("kfac", block),
                        keys = keysFor(kRanks, ranks);
      RankSessions all(artifactOf(onRanks(kDense, recipe, keys)), ranks),
          parts(artifactOf(onRanks(kDense, dealt(recipe), keys)), ranks);
      for (int step = 0; step < 10; ++step) {
        NamedTensors batch = batchOf(all.on(0), step, ranks);
        all.run("train", batch);
        parts.run("train", batch);
      }
      auto wanted = all.replicated(0);
      EXPECT_GT(wanted.count("precondition/inputs/w"), 0U);
      for (const auto &[name, bits] : parts.replicated(0))
        EXPECT_EQ(bits, wanted[name]) << name;
      parts.expectReplicas();
    }
}

TEST(CurvatureOnRanks, IsAMeanOverTimeAndInParts) {
  expectOneProcess({.recipe = kCrossEntropy + kKeepAll +
                              ", precondition = {type = \"kfac\", decay = 0.9, "
                              "refresh = {every = 4 : i64, measure_every = 2 : "
                              "i64}}, optimizer = {type = \"sgd\", "
                              "learning_rate = 0.01, momentum = 0.9}"});
  expectOneProcess({.recipe = kCrossEntropy + kKeepAll +
                              ", precondition = {type = \"thor\", refresh = "
                              "{every = 4 : i64, spread = 2 : i64}}, optimizer "
                              "= {type = \"sgd\", learning_rate = 0.01, "
                              "momentum = 0.9}"});
}

TEST(CurvatureOnRanks, OfTheMeanSampleIsThatOfAllSamples) {
  std::string recipe = preconditioned("thor", ", per_sample = false");
  expectOneProcess({.recipe = recipe});
  expectOneProcess({.program = kNormalized,
                    .recipe = recipe,
                    .distribution = kSynchronized});
  expectOneProcess({.program = kShared, .recipe = recipe});
}
