// n ranks with b samples each train as one process with n b does: losses,
// metrics and states agree to the rounding of f64.

#include "cases.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::testing;

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
        "loss_scale = {type = \"group\", groups = [[\"w1\", \"scale\"], "
        "[\"w2\"]], initial = [1024.0, 16.0]}",
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
