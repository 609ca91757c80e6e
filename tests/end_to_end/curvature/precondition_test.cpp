// THOR and K-FAC through compiled graphs: when factors are measured and
// inverted, what a step makes of the inverses, and each defect of MindSpore's
// THOR that ours does not have. What the inverses are is compared with a second
// implementation in tests/data/vectors.

#include "temporary_folder.h"
#include "trained.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

const std::vector<std::string> kWeights = {"fc1.weight", "fc2.weight"};

Json every(int64_t updates) { return {{"refresh", {{"every", updates}}}}; }

/// A mean over time that is measured every second update.
Json kfac() {
  return {{"type", "kfac"}, {"refresh", {{"every", 4}, {"measure_every", 2}}}};
}

/// What one step moves a parameter by, for a learning rate of 1.
std::vector<double> stepOf(const NamedTensors &start, const NamedTensors &after,
                           const std::string &name) {
  return change(after.at(name).floats, start.at(name).floats);
}

/// Expects that a first step moves weights by G^-1 g A^-1, with the inverses
/// that it keeps, and all other parameters by their gradients g.
void expectDirections(const Network &network, Json keys,
                      const std::map<std::string, int64_t> &weights) {
  Json sgd = {{"optimizer", {{"type", "sgd"}, {"learning_rate", 1.0}}}};
  keys["kinds"] = {"dense", "convolution", "embedding"};
  Trained run(network, preconditioned(keys, sgd)), same(network, plain(sgd));
  NamedTensors start = run.parameters();
  run.step(0);
  same.step(0);
  NamedTensors after = run.states(), ofPlain = same.states();
  for (const auto &[name, from] : start) {
    HostTensor gradient = from;
    gradient.floats = stepOf(start, ofPlain, name);
    HostTensor want = gradient, found = gradient;
    found.floats = stepOf(start, after, name);
    auto weight = weights.find(name);
    if (weight != weights.end())
      want.floats = directionOf(after, name, gradient, weight->second);
    EXPECT_GT(normOf(want.floats), 0) << name;
    expectClose({{name, found}}, {{name, want}}, 1e-5);
  }
}

} // namespace

//===-- schedule ----------------------------------------------------------===//

/// Defect 13: MindSpore leaves out the steps that do not fill a cycle.
TEST(Refresh, IsAtEachMultipleFromTheFirstUpdateOn) {
  Trained run(denseNetwork(), preconditioned(every(4)));
  std::vector<std::string> expected(10, "train");
  for (int at : {0, 4, 8})
    expected[at] = "train_refresh";
  EXPECT_EQ(run.steps(0, 10), expected);
  EXPECT_EQ(run.count("step"), 10);
}

TEST(Refresh, MeasuresMoreOftenThanItInverts) {
  Trained run(denseNetwork(), preconditioned(kfac()));
  std::vector<std::string> cycle = {"train_refresh", "train", "train_measure",
                                    "train"},
                           expected = cycle;
  llvm::append_range(expected, cycle);
  EXPECT_EQ(run.steps(0, 8), expected);
  for (const std::string &weight : kWeights)
    EXPECT_EQ(run.count("precondition/measured/" + weight), 4);
}

TEST(Refresh, IsAtListedUpdatesAndNeverAfter) {
  Trained run(denseNetwork(),
              preconditioned({{"refresh", {{"at", {0, 2, 3, 7}}}}}));
  std::vector<std::string> expected(12, "train");
  for (int at : {0, 2, 3, 7})
    expected[at] = "train_refresh";
  EXPECT_EQ(run.steps(0, 12), expected);
}

TEST(Refresh, OfEachUpdateNeedsNoVariant) {
  Trained run(denseNetwork(), preconditioned(every(1)));
  EXPECT_EQ(run.steps(0, 3), std::vector<std::string>(3, "train"));
  Trained other(denseNetwork(), preconditioned(every(3)));
  other.steps(0, 1);
  Trained first(run);
  first.steps(0, 1);
  expectClose(first.parameters(), other.parameters(), 1e-6);
}

TEST(Refresh, MayBeSpreadOverUpdates) {
  Trained run(denseNetwork(),
              preconditioned({{"refresh", {{"every", 6}, {"spread", 2}}}}));
  std::vector<std::string> expected(10, "train");
  expected[0] = "train_refresh";
  expected[3] = expected[9] = "train_refresh_2";
  expected[6] = "train_refresh_1";
  EXPECT_EQ(run.steps(0, 10), expected);
}

/// On the same samples in each update, with weights that stand still, a part
/// makes of its layers what a whole refresh does, also of means over time.
TEST(Refresh, ThatIsSpreadIsAWholeOneLayerByLayer) {
  Json still = {{"optimizer", {{"type", "sgd"}, {"learning_rate", 1e-30}}}};
  Json whole = {{"type", "kfac"}, {"refresh", {{"every", 6}}}}, spread = whole;
  spread["refresh"]["spread"] = 2;
  Trained wholes(denseNetwork(), preconditioned(whole, still)),
      parts(denseNetwork(), preconditioned(spread, still));
  for (Trained *run : {&wholes, &parts}) {
    run->steps(0, 1);
    for (int update = 1; update < 9; ++update)
      run->step(1);
  }
  for (const std::string &weight : kWeights)
    for (const char *what :
         {"inputs/", "outputs/", "mean_inputs/", "mean_outputs/"}) {
      std::string name = "precondition/" + std::string(what) + weight;
      EXPECT_EQ(parts.count("precondition/measured/" + weight), 2) << weight;
      EXPECT_EQ(parts.state(name), wholes.state(name)) << name;
    }
}

TEST(Step, IsNoLongerThanKlClipAllows) {
  Json keys = every(2), sgd = {{"type", "sgd"}, {"learning_rate", 0.5}};
  keys["kinds"] = {"dense"};
  Trained loose(plainNetwork(), preconditioned(keys, {{"optimizer", sgd}})),
      same(plainNetwork(), plain({{"optimizer", sgd}}));
  keys["kl_clip"] = 1e-3;
  Trained bound(plainNetwork(), preconditioned(keys, {{"optimizer", sgd}}));
  NamedTensors start = loose.parameters();
  for (Trained *run : {&loose, &same, &bound})
    run->step(0);
  double product = 0, clipped = 0; // of the rate's square, as steps have it
  for (const std::string &weight : kWeights) {
    std::vector<double> from = start.at(weight).floats,
                        gradient = change(from, same.state(weight)),
                        direction = change(from, loose.state(weight)),
                        found = change(from, bound.state(weight));
    for (size_t i = 0; i < gradient.size(); ++i) {
      product += gradient[i] * direction[i];
      clipped += gradient[i] * found[i];
    }
  }
  ASSERT_GT(product, 1e-3);
  EXPECT_NEAR(clipped, std::sqrt(1e-3 * product), 1e-4 * clipped);
}

TEST(Refresh, AloneChangesTheInverses) {
  Trained run(denseNetwork(), preconditioned(every(3)));
  run.step(0);
  std::string name = "precondition/inputs/fc1.weight";
  std::vector<double> first = run.state(name);
  run.steps(1, 3);
  EXPECT_EQ(run.state(name), first);
  run.step(3);
  EXPECT_NE(run.state(name), first);
}

/// A checkpoint of parameters alone has no inverses.
TEST(Refresh, ComesFirstWhereOnlyParametersAreRead) {
  TemporaryFolder folder;
  std::string path = folder.file("parameters.safetensors");
  Trained run(denseNetwork(), preconditioned(every(4)));
  run.steps(0, 2);
  ASSERT_TRUE(run.session().saveCheckpoint(path).ok());
  Trained tuned(run);
  ASSERT_TRUE(
      tuned.session().loadCheckpoint(path, runtime::Restore::parameters).ok());
  expectSame(tuned.parameters(), run.parameters());
  EXPECT_EQ(tuned.step(2), "train_refresh");
  expectFinite(tuned.states());
}

/// Defect 12: stored inverses are no part of MindSpore's checkpoints.
TEST(Refresh, GoesOnToTheBitFromACheckpointOfEachStep) {
  for (const Json &more :
       {Json::object(), Json{{"accumulation", 2}},
        Json{{"loss_scale", {{"type", "dynamic"}, {"initial", 8}}}}}) {
    SCOPED_TRACE(more.dump());
    TemporaryFolder folder;
    Trained whole(denseNetwork(), preconditioned(kfac(), more));
    int64_t steps = more.contains("accumulation") ? 17 : 9;
    for (int64_t at = 0; at < steps; ++at) {
      std::string path = folder.file(std::to_string(at) + ".safetensors");
      ASSERT_TRUE(whole.session().saveCheckpoint(path).ok());
      whole.step(at);
    }
    for (int64_t at = 0; at < steps; ++at) {
      std::string path = folder.file(std::to_string(at) + ".safetensors");
      Trained resumed(whole);
      ASSERT_TRUE(resumed.session().loadCheckpoint(path).ok());
      resumed.steps(at, steps);
      SCOPED_TRACE(at);
      expectSame(resumed.states(), whole.states());
    }
  }
}

TEST(Precondition, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const Network &network :
       {denseNetwork(), imageNetwork(), tokenNetwork()}) {
    Trained one(network, preconditioned(kfac(), {{"deterministic", true}}),
                kSamples, {.threads = 1});
    one.steps(0, 6);
    for (int threads : {2, 4}) {
      Trained many(one, {.threads = threads});
      many.steps(0, 6);
      expectSame(many.states(), one.states());
    }
  }
}

//===-- directions --------------------------------------------------------===//

TEST(Direction, OfDenseLayersHasBothInverses) {
  expectDirections(plainNetwork(), every(2),
                   {{"fc1.weight", 1}, {"fc2.weight", 1}});
}

TEST(Direction, OfConvolutionsIsByGroups) {
  expectDirections(
      imageNetwork(), every(2),
      {{"conv1.weight", 1}, {"conv2.weight", 2}, {"fc.weight", 1}});
}

TEST(Direction, OfTokensIsByRowsAndWidth) {
  expectDirections(
      tokenNetwork(), every(2),
      {{"table.weight", 1}, {"hidden.weight", 1}, {"head.weight", 1}});
}

TEST(Direction, IsTheSameByBlocksOfAnySize) {
  for (int64_t block : {1, 4, 5}) {
    SCOPED_TRACE(block);
    Json keys = every(2);
    keys["block"] = block;
    expectDirections(
        imageNetwork(), keys,
        {{"conv1.weight", 1}, {"conv2.weight", 2}, {"fc.weight", 1}});
  }
}

/// A side that is longer than `limit` has no inverse; the other has.
TEST(Direction, LeavesLongSidesAlone) {
  Json keys = every(2);
  keys["limit"] = 10;
  Trained run(imageNetwork(), preconditioned(keys));
  run.steps(0, 3);
  NamedTensors states = run.states();
  EXPECT_FALSE(states.contains("precondition/inputs/fc.weight"));
  EXPECT_TRUE(states.contains("precondition/outputs/fc.weight"));
  expectFinite(states);
}

TEST(Direction, IsOfTheNamedKindsAlone) {
  Json keys = every(2);
  keys["kinds"] = {"convolution"};
  Trained run(imageNetwork(), preconditioned(keys));
  NamedTensors states = run.states();
  EXPECT_TRUE(states.contains("precondition/inputs/conv1.weight"));
  EXPECT_FALSE(states.contains("precondition/inputs/fc.weight"));
}

//===-- blocks that cannot be inverted ------------------------------------===//

/// Samples that differ by nothing: a factor of rank 1, in which damping is
/// lost.
static NamedTensors equalSamples(const Trained &run) {
  NamedTensors inputs = run.inputs(0);
  for (int64_t i = 0; i < inputs.at("x").size(); ++i)
    inputs.at("x").floats[i] = 10000.0 * (i % 5 + 1);
  return inputs;
}

TEST(Kept, IsAnInverseWhereTheNextCannotBeMade) {
  Json keys = every(2), slow = {{"type", "sgd"}, {"learning_rate", 1e-6}};
  keys["damping"] = 1e-4;
  Trained run(plainNetwork(), preconditioned(keys, {{"optimizer", slow}}));
  run.steps(0, 2);
  EXPECT_EQ(run.count("precondition/kept"), 0);
  NamedTensors before = run.states();
  EXPECT_EQ(run.stepOn(equalSamples(run)), "train_refresh");
  // Those of the inputs: of `fc1` and, as what comes out of it, of `fc2`.
  EXPECT_EQ(run.count("precondition/kept"), 2);
  for (const std::string &weight : kWeights) {
    EXPECT_EQ(run.state("precondition/inputs/" + weight),
              before.at("precondition/inputs/" + weight).floats);
    EXPECT_NE(run.state("precondition/outputs/" + weight),
              before.at("precondition/outputs/" + weight).floats);
  }
  expectFinite(run.states());
  run.steps(3, 5);
  EXPECT_EQ(run.count("precondition/kept"), 2);
  for (const std::string &weight : kWeights)
    EXPECT_NE(run.state("precondition/inputs/" + weight),
              before.at("precondition/inputs/" + weight).floats);
}

/// Without an inverse to keep, the mean eigenvalue stands for all.
TEST(Kept, HasAMeanEigenvalueWhereThereIsNoInverseYet) {
  Json keys = every(4);
  keys["damping"] = 1e-4;
  Json slow = {{"optimizer", {{"type", "sgd"}, {"learning_rate", 1e-6}}}};
  Trained run(plainNetwork(), preconditioned(keys, slow));
  EXPECT_EQ(run.stepOn(equalSamples(run)), "train_refresh");
  EXPECT_GT(run.count("precondition/kept"), 0);
  std::vector<double> inverse = run.state("precondition/inputs/fc1.weight");
  // The mean of 1, 4, 9, 16 and 25, times 10^8.
  for (int64_t i = 0; i < 25; ++i)
    EXPECT_NEAR(inverse[i], i % 6 == 0 ? 1 / 11e8 : 0, 1e-14) << i;
  expectFinite(run.states());
}

/// Nothing behind `fc1` matters: its outputs have a factor of 0, and so have
/// the inputs of `fc2`.
TEST(DeadLayer, StaysFinite) {
  Network dead = plainNetwork();
  dead.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.scale(net.dense("fc1", x, 6), 0);
    return net.dense("fc2", net.relu(x), 4);
  };
  for (Json keys : {every(2), kfac()}) {
    Trained run(dead, preconditioned(keys));
    NamedTensors start = run.parameters();
    run.steps(0, 9);
    expectFinite(run.states());
    EXPECT_EQ(run.state("fc1.weight"), start.at("fc1.weight").floats);
    EXPECT_NE(run.state("fc2.bias"), start.at("fc2.bias").floats);
    EXPECT_EQ(run.count("precondition/kept"), 0);
  }
}

//===-- defects of MindSpore's THOR ---------------------------------------===//

namespace {

/// A dense layer alone.
Network layerOf(int64_t inputs, int64_t outputs) {
  return {.sample = {inputs},
          .positions = {},
          .classes = outputs,
          .tokens = 0,
          .layers = [outputs](ProgramBuilder &net, Tensor x) {
            return net.dense("fc", x, outputs, /*bias=*/false);
          }};
}

/// A matrix [rows, columns] with as many columns of zeros as it has.
HostTensor doubled(const HostTensor &matrix) {
  int64_t columns = matrix.shape[1];
  HostTensor wide = zeros(Shape{matrix.shape[0], 2 * columns});
  for (int64_t i = 0; i < matrix.size(); ++i)
    wide.floats[i / columns * 2 * columns + i % columns] = matrix.floats[i];
  return wide;
}

} // namespace

/// Defect 2: the factor of inputs is divided by their number.
TEST(Defects, InputsThatAreZeroChangeNoDirection) {
  Trained narrow(layerOf(5, 4), preconditioned(every(1))),
      wide(layerOf(10, 4), preconditioned(every(1)));
  wide.compiled().setState("fc.weight",
                           doubled(narrow.states().at("fc.weight")));
  NamedTensors inputs = narrow.inputs(0);
  narrow.stepOn(inputs);
  inputs.at("x") = doubled(inputs.at("x"));
  wide.stepOn(inputs);
  expectClose({{"", wide.states().at("fc.weight")}},
              {{"", doubled(narrow.states().at("fc.weight"))}}, 1e-6);
}

/// Defect 3: the inverse of an embedding's width is L^-1 L^-1.
TEST(Defects, InversesAreSymmetricToTheBit) {
  Trained run(tokenNetwork(), preconditioned(every(1)));
  run.step(0);
  for (const auto &[name, tensor] : run.states()) {
    if (!llvm::StringRef(name).starts_with("precondition/") ||
        tensor.shape.size() != 3)
      continue;
    int64_t side = tensor.shape[2];
    for (int64_t i = 0; i < tensor.size(); ++i) {
      int64_t row = i / side % side, column = i % side,
              mirrored = i + (column - row) * side + row - column;
      ASSERT_EQ(tensor.floats[i], tensor.floats[mirrored]) << name << " " << i;
    }
  }
}

/// Defect 4: some numbers of blocks are multiplied from the wrong side. Here is
/// a layer for each number of them, of which the last is smaller in two of
/// three.
TEST(Defects, EachNumberOfBlocksIsMultipliedFromItsSide) {
  Network network = plainNetwork();
  network.sample = {120};
  std::map<std::string, int64_t> weights;
  for (int64_t blocks = 1; blocks <= 40; ++blocks)
    weights["fc" + std::to_string(blocks) + ".weight"] = 1;
  network.layers = [](ProgramBuilder &net, Tensor x) {
    Tensor sum;
    for (int64_t blocks = 1; blocks <= 40; ++blocks) {
      int64_t features = 3 * blocks - blocks % 3;
      Tensor y = net.dense("fc" + std::to_string(blocks),
                           net.slice(x, 1, 0, features), 4, /*bias=*/false);
      sum = blocks == 1 ? y : net.add(sum, y);
    }
    return sum;
  };
  Json keys = every(1);
  keys["block"] = 3;
  expectDirections(network, keys, weights);
}

/// Defect 5: what is not preconditioned overwrites the last layer's inverses.
TEST(Defects, ANetworkMayEndInAConvolution) {
  Network network = imageNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.batchNorm("norm", net.convolution("conv1", x, 4, {.size = {3, 3}}));
    x = net.convolution("conv2", net.relu(x), 3, {.size = {2, 2}});
    return net.globalAveragePool(x);
  };
  expectDirections(network, every(2),
                   {{"conv1.weight", 1}, {"conv2.weight", 1}});
}

/// Defect 6: a layer with two outputs has no maxima, and shifts later ones.
TEST(Defects, ALayerMayHaveTwoOutputs) {
  Network network = imageNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.convolution("conv1", x, 4, {.size = {3, 3}, .strides = {2, 2}});
    x = net.dense("fc1", net.flatten(net.relu(x)), 2);
    return net.dense("fc2", net.tanh(x), 3);
  };
  expectDirections(network, every(2),
                   {{"conv1.weight", 1}, {"fc1.weight", 1}, {"fc2.weight", 1}});
}

/// Defect 7: layers are found by names and by the order of parameters.
TEST(Defects, NamesAndOrderOfParametersDoNotMatter) {
  auto renamed = [](const char *first, const char *second) {
    Network network = plainNetwork();
    network.layers = [=](ProgramBuilder &net, Tensor x) {
      // Declared in the other order, as another model's layers.
      if (std::string(first) == "bn_fc") {
        Tensor last = net.parameter("bias1.weight", {4, 6}),
               next = net.parameter("bn_fc.weight", {6, 5});
        return net.matmul(net.relu(net.matmul(x, next, true)), last, true);
      }
      x = net.dense(first, x, 6, /*bias=*/false);
      return net.dense(second, net.relu(x), 4, /*bias=*/false);
    };
    return network;
  };
  Trained plainly(renamed("fc1", "fc2"), preconditioned(every(3))),
      oddly(renamed("bn_fc", "bias1"), preconditioned(every(3)));
  std::map<std::string, std::string> names = {{"fc1.weight", "bn_fc.weight"},
                                              {"fc2.weight", "bias1.weight"}};
  for (const auto &[name, other] : names)
    oddly.compiled().setState(other, plainly.states().at(name));
  plainly.steps(0, 5);
  oddly.steps(0, 5);
  for (const auto &[name, other] : names)
    EXPECT_EQ(plainly.state(name), oddly.state(other)) << name;
}

/// Defect 9: samples are averaged before they are squared. The factor of +1 and
/// -1 is 1.
TEST(Defects, OppositeSamplesDoNotCancel) {
  Network network = {.sample = {1, 1, 1},
                     .positions = {},
                     .classes = 2,
                     .tokens = 0,
                     .layers = [](ProgramBuilder &net, Tensor x) {
                       return net.flatten(
                           net.convolution("conv", x, 2, {.size = {1, 1}}));
                     }};
  Json keys = every(1);
  keys["damping"] = 0.25;
  Trained run(network, preconditioned(keys));
  NamedTensors inputs = run.inputs(0);
  for (int64_t i = 0; i < kSamples; ++i)
    inputs.at("x").floats[i] = i % 2 ? 1 : -1;
  run.stepOn(inputs);
  EXPECT_NEAR(run.state("precondition/inputs/conv.weight").at(0), 1 / 1.5,
              1e-6);
}

/// Defect 10: a list of dampings must be as long as the training.
TEST(Defects, TheLastDampingOfAListHolds) {
  Json keys = every(1);
  keys["damping"] = 0.25;
  Json list = {{{"type", "list"}, {"values", {1.0, 4.0}}}};
  Trained run(layerOf(1, 2),
              preconditioned(keys, {{"schedule", {{"damping", list}}}}));
  NamedTensors inputs = run.inputs(0);
  inputs.at("x").floats.assign(kSamples, 1);
  for (double expected : {1 / 1.5, 1 / 2.0, 1 / 2.0, 1 / 2.0}) {
    run.stepOn(inputs);
    EXPECT_NEAR(run.state("precondition/inputs/fc.weight").at(0), expected,
                1e-6);
  }
}

/// (10.5): with a loss scale, the last of two dense layers with biases once
/// used the factor of the refresh before.
TEST(Defects, TheLastLayerHasItsOwnFactorsAtALossScale) {
  Trained plainly(plainNetwork(), preconditioned(every(2))),
      scaled(plainNetwork(),
             preconditioned(
                 every(2),
                 {{"loss_scale", {{"type", "static"}, {"initial", 8}}}}));
  plainly.steps(0, 5);
  scaled.steps(0, 5);
  expectSame(scaled.parameters(), plainly.parameters());
  for (const std::string &weight : kWeights)
    EXPECT_EQ(scaled.state("precondition/outputs/" + weight),
              plainly.state("precondition/outputs/" + weight));
}
