// n ranks with b samples each train as one process with n b does: losses,
// metrics and states agree to the rounding of f64.

#include "ranks.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::testing;

namespace {

constexpr int64_t kFeatures = 3, kClasses = 4;
constexpr int64_t kIgnored = -100;

std::string replaced(std::string text, const std::string &what,
                     const std::string &by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;)
    text.replace(at, what.size(), by);
  return text;
}

const char *const kNetwork = R"(
gradus.program @p attributes {recipe = {RECIPE}} {
  gradus.state @w1 : tensor<3x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w2 : tensor<8x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @scale : tensor<8xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @variance : tensor<8xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.graph @predict(%x: tensor<Bx3xf32>) -> (y: tensor<Bx4xf32>) {
    %w1 = gradus.read @w1 : tensor<3x8xf32>
    %w2 = gradus.read @w2 : tensor<8x4xf32>
    %a = gradus.matmul %x, %w1 : tensor<Bx3xf32>, tensor<3x8xf32> -> tensor<Bx8xf32>
    NORM
    %h = gradus.sigmoid %n : tensor<Bx8xf32>
    %d = gradus.dropout %h ratio 0.5 : tensor<Bx8xf32>
    %y = gradus.matmul %d, %w2 : tensor<Bx8xf32>, tensor<8x4xf32> -> tensor<Bx4xf32>
    gradus.return %y : tensor<Bx4xf32>
  }
}
)";

const char *const kBatchNorm = R"(
    %scale = gradus.read @scale : tensor<8xf32>
    %mean = gradus.read @mean : tensor<8xf32>
    %variance = gradus.read @variance : tensor<8xf32>
    %n = gradus.batch_norm %a, %scale, %scale mean %mean variance %variance epsilon 1.0e-5 momentum 0.75 : tensor<Bx8xf32>, tensor<8xf32>
)";
const char *const kNoNorm = R"(
    %zero = arith.constant dense<0.0> : tensor<Bx8xf32>
    %n = arith.addf %a, %zero : tensor<Bx8xf32>
)";

/// One comparison of ranks with one process.
struct Case {
  std::string recipe;    // without `distribution`
  std::string keys = ""; // of `distribution`, each with a comma in front
  const char *norm = kNoNorm;
  bool hasValues = false; // labels are values, not classes
  int steps = 4;
  int64_t batch = 4; // of a rank
  /// Changes the inputs of all samples of a step.
  std::function<void(int step, Inputs &inputs)> change = {};
};

std::string program(const Case &test, int64_t batch, bool isShared) {
  std::string recipe = test.recipe;
  if (isShared)
    recipe += ", distribution = {mode = \"data_parallel\"" + test.keys + "}";
  std::string text =
      replaced(replaced(kNetwork, "NORM", test.norm), "RECIPE", recipe);
  return replaced(text, "<Bx", "<" + std::to_string(batch) + "x");
}

/// The inputs of all samples of a step.
Inputs samples(const Case &test, int step, int64_t count) {
  std::mt19937 bits(step);
  std::uniform_real_distribution<double> uniform(-2, 2);
  HostTensor x = zeros({count, kFeatures});
  for (double &number : x.floats)
    number = uniform(bits);
  HostTensor label = test.hasValues ? zeros({count, kClasses})
                                    : zeros({count}, /*isFloat=*/false);
  for (double &number : label.floats)
    number = uniform(bits);
  for (int64_t &number : label.integers)
    number = bits() % kClasses;
  Inputs inputs = {x, label};
  if (test.change)
    test.change(step, inputs);
  return inputs;
}

/// The inputs of one of `ranks` ranks.
Inputs partOf(const Inputs &all, int rank, int ranks) {
  Inputs part;
  for (const HostTensor &whole : all) {
    HostTensor own = whole;
    own.shape[0] /= ranks;
    auto cut = [&](auto &numbers) {
      auto size = numbers.size() / ranks;
      numbers = {numbers.begin() + rank * size,
                 numbers.begin() + (rank + 1) * size};
    };
    cut(own.floats);
    cut(own.integers);
    part.push_back(own);
  }
  return part;
}

/// The factor N / (N - 1) of one process's variance is a constant of f32.
double toleranceOf(const std::string &name) {
  return name == "variance" ? 1e-7 : 1e-12;
}

void expectEqual(const HostTensor &found, const HostTensor &expected,
                 const std::string &name) {
  EXPECT_EQ(found.integers, expected.integers) << name;
  ASSERT_EQ(found.floats.size(), expected.floats.size()) << name;
  for (size_t i = 0; i < found.floats.size(); ++i)
    if (std::isnan(expected.floats[i]))
      EXPECT_TRUE(std::isnan(found.floats[i])) << name;
    else
      EXPECT_NEAR(found.floats[i], expected.floats[i],
                  toleranceOf(name) * (1 + std::abs(expected.floats[i])))
          << name << " at " << i;
}

/// Trains on ranks and on one process with the samples of all.
void expectExact(const Case &test, int count) {
  SCOPED_TRACE(test.recipe + test.keys);
  Ranks ranks(program(test, test.batch, true), count);
  Ranks alone(program(test, test.batch * count, false), 1);
  for (int step = 0; step < test.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Inputs all = samples(test, step, test.batch * count);
    std::vector<Inputs> parts;
    for (int rank = 0; rank < count; ++rank)
      parts.push_back(partOf(all, rank, count));
    std::vector<Outputs> found = ranks.step(parts);
    Outputs expected = alone.step({all})[0];
    for (const auto &[name, value] : expected)
      for (int rank = 0; rank < count; ++rank)
        expectEqual(found[rank][name], value, name);
  }
  for (const auto &state : alone.states(0))
    for (int rank = 0; rank < count; ++rank)
      if (!state.first().starts_with("accumulation/"))
        expectEqual(ranks.states(rank)[state.first()], state.second,
                    state.first().str());
}

const std::string kSgd = ", optimizer = {type = \"sgd\", learning_rate = 0.5, "
                         "momentum = 0.9}";
const std::string kClassLoss =
    "loss = {type = \"softmax_cross_entropy\"}" + kSgd;

/// Leaves labels out, most of them on the second rank.
void ignore(int, Inputs &inputs) {
  auto &labels = inputs[1].integers;
  labels[0] = kIgnored;
  for (size_t i = 4; i < 8; ++i)
    labels[i] = kIgnored;
}

} // namespace

TEST(DataParallel, IsOneProcessWithTheSamplesOfAll) {
  for (int ranks : {1, 2, 3})
    expectExact({kClassLoss}, ranks);
}

// The second rank has no label that counts, and adds 0.
TEST(DataParallel, CountsLabelsOfAllRanks) {
  for (std::string type : {"softmax_cross_entropy", "multi_margin"})
    for (std::string weights : {"", ", class_weights = [1.0, 2.0, 0.5, 3.0]"}) {
      if (type == "multi_margin") // has no label to ignore
        continue;
      expectExact({.recipe = "loss = {type = \"" + type + "\"" + weights +
                             "}, metrics = [\"accuracy\", \"gradient_norm\"]" +
                             kSgd,
                   .change = ignore},
                  3);
    }
  expectExact({.recipe = "loss = {type = \"softmax_cross_entropy\", "
                         "label_smoothing = 0.1}, metrics = [\"accuracy\"]" +
                         kSgd,
               .change = ignore},
              2);
}

// As on one process, a batch without any label has no mean.
TEST(DataParallel, IsNoNumberWhereNoLabelCounts) {
  expectExact({.recipe = kClassLoss + ", metrics = [\"accuracy\"]",
               .steps = 2,
               .change =
                   [](int step, Inputs &inputs) {
                     if (step == 1)
                       llvm::fill(inputs[1].integers, kIgnored);
                   }},
              2);
}

TEST(DataParallel, SharesLossesOfValues) {
  for (std::string loss :
       {"type = \"mse\"", "type = \"mse\", reduction = \"sum\"",
        "type = \"huber\", weight = 0.5", "type = \"l1\", reduction = \"sum\"",
        "type = \"kl_div\", log_target = true, reduction = \"batchmean\""})
    expectExact({.recipe = "loss = {" + loss +
                           "}, optimizer = {type = \"sgd\", learning_rate = "
                           "0.01}",
                 .hasValues = true},
                2);
  expectExact({.recipe = "loss = {type = \"softmax_cross_entropy\", reduction "
                         "= \"sum\"}, optimizer = {type = \"sgd\", "
                         "learning_rate = 0.01}",
               .change = ignore},
              2);
}

// Clipping, decay and metrics see what all ranks have summed.
TEST(DataParallel, ComesBeforeMethodsOnFinalGradients) {
  expectExact({.recipe = kClassLoss +
                         ", clip = {type = \"global_norm\", value = 0.1}, "
                         "gradient_centralization = {}, ema = {decay = 0.5}, "
                         "metrics = [\"gradient_norm\"]",
               .change = ignore},
              2);
}

TEST(DataParallel, NormalizesByTheSamplesOfAllRanks) {
  for (std::string variance : {"pytorch", "onnx"})
    expectExact(
        {.recipe = kClassLoss + ", batch_norm_variance = \"" + variance + "\"",
         .keys = ", batch_norm = \"synchronized\"",
         .norm = kBatchNorm},
        2);
}

// Statistics of a rank's samples are equal on all ranks all the same.
TEST(DataParallel, KeepsRunningStatisticsEqual) {
  for (std::string kind : {"average", "local"}) {
    Case test = {.recipe = kClassLoss,
                 .keys = ", batch_norm = \"" + kind + "\"",
                 .norm = kBatchNorm};
    Ranks ranks(program(test, 4, true), 3);
    for (int step = 0; step < 3; ++step) {
      Inputs all = samples(test, step, 12);
      ranks.step({partOf(all, 0, 3), partOf(all, 1, 3), partOf(all, 2, 3)});
    }
    for (std::string name : {"w1", "w2", "mean", "variance"})
      for (int rank : {1, 2})
        EXPECT_EQ(ranks.states(rank)[name].floats, ranks.states(0)[name].floats)
            << kind << ": " << name;
  }
}

// An infinite sample of the second rank makes all skip the batch, between
// those of an update and at its end.
TEST(DataParallel, SkipsOnAllRanksOrNone) {
  for (std::string scale :
       {"loss_scale = {type = \"dynamic\", initial = 1024.0, growth_interval = "
        "2}",
        "on_nonfinite = \"skip\""})
    for (int accumulation : {1, 3})
      expectExact({.recipe = kClassLoss + ", " + scale +
                             ", accumulation = " + std::to_string(accumulation),
                   .steps = 9,
                   .change =
                       [](int step, Inputs &inputs) {
                         if (step == 1 || step == 3 || step == 6)
                           inputs[0].floats[5 * kFeatures] = HUGE_VAL;
                       }},
                  2);
}

// Gradients are summed over ranks only where an update is made.
TEST(DataParallel, SharesGradientsOfUpdatesAlone) {
  Case test = {.recipe = kClassLoss + ", accumulation = 2"};
  Ranks ranks(program(test, 4, true), 1);
  for (auto graph : ranks.program().getBody().getOps<GraphOp>()) {
    bool shares = false;
    graph.walk([&](AllReduceOp sum) { shares |= bool(sum.getOf()); });
    EXPECT_EQ(shares, graph.getSymName() == "train")
        << graph.getSymName().str();
  }
}

TEST(DataParallel, FreezesTheSameLayersOnAllRanks) {
  expectExact({.recipe = kClassLoss +
                         ", gradient_freeze = {groups = 2, p = 0.4}, "
                         "accumulation = 2",
               .steps = 8},
              2);
  expectExact({.recipe = kClassLoss + ", gradient_freeze = {until = {w1 = 2}}",
               .keys = ", batch_norm = \"synchronized\"",
               .norm = kBatchNorm},
              2);
}

// A frozen layer's backward pass shares nothing.
TEST(DataParallel, SharesNoStatisticsOfFrozenLayers) {
  Case test = {.recipe = kClassLoss +
                         ", gradient_freeze = {until = {w1 = 2, scale = "
                         "2}}",
               .keys = ", batch_norm = \"synchronized\"",
               .norm = kBatchNorm};
  Ranks ranks(program(test, 4, true), 1);
  std::map<std::string, int> operands;
  for (auto graph : ranks.program().getBody().getOps<GraphOp>())
    graph.walk([&](AllReduceOp sum) {
      operands[graph.getSymName().str()] += sum.getNumOperands();
    });
  // The label count, the mean, the variance, loss and the gradient of w2; with
  // those of w1 and scale also the two backward through the statistics.
  EXPECT_EQ(operands["train"], 5) << "the steps before the second";
  EXPECT_EQ(operands["train_cut1"], 9);
}

TEST(DataParallel, TakesTheMeanOfEachRanksMean) {
  Case test = {.recipe = "loss = {type = \"softmax_cross_entropy\"}, metrics = "
                         "[\"accuracy\"]" +
                         kSgd,
               .keys = ", loss_mean = \"rank\"",
               .change = ignore};
  Ranks ranks(program(test, 4, true), 2);
  Inputs all = samples(test, 0, 8);
  Outputs found = ranks.step({partOf(all, 0, 2), partOf(all, 1, 2)})[0];
  Case exact = {.recipe = test.recipe, .change = ignore};
  Ranks alone(program(exact, 8, false), 1);
  Outputs expected = alone.step({all})[0];
  // The second rank has no label: its mean is 0.
  EXPECT_NEAR(found["loss"].floats[0], expected["loss"].floats[0] / 2, 1e-12);
  EXPECT_NEAR(found["accuracy"].floats[0], expected["accuracy"].floats[0],
              1e-12);
}

TEST(DataParallel, AddsGradientsWhereTheMeanIsOff) {
  Case test = {.recipe = "loss = {type = \"softmax_cross_entropy\"}, optimizer "
                         "= {type = \"sgd\", learning_rate = 0.25}",
               .keys = ", mean = false",
               .steps = 1};
  Case twice = {.recipe = "loss = {type = \"softmax_cross_entropy\"}, "
                          "optimizer = {type = \"sgd\", learning_rate = 0.5}"};
  Ranks ranks(program(test, 4, true), 2);
  Ranks alone(program(twice, 8, false), 1);
  Inputs all = samples(test, 0, 8);
  ranks.step({partOf(all, 0, 2), partOf(all, 1, 2)});
  alone.step({all});
  expectEqual(ranks.states(0)["w1"], alone.states(0)["w1"], "w1");
}

TEST(DataParallel, BoundsTheElementsOfEachRank) {
  Case test = {.recipe = "loss = {type = \"softmax_cross_entropy\"}, optimizer "
                         "= {type = \"sgd\", learning_rate = 1.0}",
               .keys = ", local_clip = 1.0e-9"};
  Ranks ranks(program(test, 4, true), 2);
  HostTensor before = ranks.states(0)["w2"];
  Inputs all = samples(test, 0, 8);
  ranks.step({partOf(all, 0, 2), partOf(all, 1, 2)});
  for (size_t i = 0; i < before.floats.size(); ++i)
    EXPECT_LE(std::abs(ranks.states(0)["w2"].floats[i] - before.floats[i]),
              1.0001e-9);
}
