// Steps in a subspace with each other method, and wherever a step may run,
// through compiled graphs.

#include "subspace_model.h"

#include "tests/this_build.h"

#include <cmath>
#include <cstdlib>

using namespace gradus;
using namespace gradus::curvature;

namespace {

constexpr const char *kInverse = "dim_reduce/inverse_hessian";
constexpr const char *kAccepted = "dim_reduce/accepted";

/// A block of three normalized convolutions, the second and third of which
/// less_bn takes the normalization from.
Network normedNetwork() {
  Network network = imageNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    WindowOptions window{.size = {3, 3}, .pads = {1, 1}};
    x = net.relu(net.batchNorm("bn0", net.convolution("conv0", x, 4, window)));
    Tensor y =
        net.relu(net.batchNorm("bn1", net.convolution("conv1", x, 4, window)));
    y = net.batchNorm("bn2", net.convolution("conv2", y, 4, window));
    return net.dense("fc", net.globalAveragePool(net.relu(net.add(y, x))), 3);
  };
  return network;
}

/// The model of the rule knows the other methods by the losses and gradients of
/// plain descent with them. Along so many directions a loss falls clearly.
void expectTheRule(const Network &network, const Json &methods,
                   int64_t steps = 5) {
  SCOPED_TRACE(methods.dump());
  Alone run(network, reduced(24, with(sgd(0.01, 0.9), methods)));
  Model model(network, run, 0.01, 0.9, methods);
  for (int64_t update = 0; update < steps; ++update) {
    run.step(update);
    model.step(update);
    SCOPED_TRACE(update);
    ASSERT_GT(model.margin, kClear);
    ASSERT_EQ(run.count(kAccepted), model.accepted);
    expectNearlyEqual(flat(run.parameters()), model.weights, 1e-4);
  }
  EXPECT_GT(model.accepted, 0);
}

double meanOf(llvm::ArrayRef<double> numbers) {
  double sum = 0;
  for (double number : numbers)
    sum += number;
  return sum / numbers.size();
}

} // namespace

//===-- rewritten models --------------------------------------------------===//

TEST(DimReduceWithLessBn, DirectionsAreOfTheParametersThatAreLeft) {
  Alone run(normedNetwork(), reduced(3, {{"less_bn", true}}));
  int64_t norms = 0;
  for (const auto &[name, tensor] : run.states())
    norms += llvm::StringRef(name).ends_with(".running_mean");
  EXPECT_LT(norms, 3);
  expectTheRule(normedNetwork(), {{"less_bn", true}});
}

TEST(DimReduceWithFcToFn, TheHeadsMultiplierIsMovedToo) {
  Alone run(plainNetwork(), reduced(3, {{"fc_to_fn", true}}));
  int64_t multipliers = 0;
  for (const auto &[name, tensor] : run.parameters())
    if (tensor.size() == 1) {
      ++multipliers;
      EXPECT_TRUE(run.states().contains("dim_reduce/basis/" + name)) << name;
    }
  EXPECT_EQ(multipliers, 1);
  expectTheRule(plainNetwork(), {{"fc_to_fn", true}});
}

TEST(DimReduceWithLessBn, AndAFullyNormalizedHead) {
  expectTheRule(normedNetwork(), {{"less_bn", true}, {"fc_to_fn", true}});
}

//===-- methods on gradients ----------------------------------------------===//

/// What is left of the gradient is centered, and the subspace's part is not.
TEST(DimReduceWithCentralization, TheRestIsCentered) {
  expectClear(denseNetwork(), reduced(3));
  for (const char *placement : {"before_weight_decay", "after_weight_decay"}) {
    Json more = sgd(1);
    more["optimizer"]["weight_decay"] = 0.5;
    Alone quiet(denseNetwork(), reduced(3, still())),
        free(denseNetwork(), reduced(3, more));
    more["gradient_centralization"] = {{"placement", placement}};
    Alone run(denseNetwork(), reduced(3, more));
    Vector weight = run.state("fc1.weight");
    for (Alone *each : {&quiet, &free, &run})
      each->step(0);
    EXPECT_EQ(run.count(kAccepted), 1);
    Vector moved = quiet.state("fc1.weight"),
           way = change(moved, run.state("fc1.weight")),
           plainly = change(moved, free.state("fc1.weight"));
    EXPECT_GT(normOf(change(weight, moved)), 0.01 * normOf(weight));
    bool isBefore = placement == std::string("before_weight_decay");
    for (size_t row = 0; row < weight.size(); row += 5) {
      // Decay is of the weight that the step begins with, or of the one that
      // the accepted trial leads to.
      double mean = meanOf({&plainly[row], 5}),
             decayed = 0.5 * meanOf({&weight[row], 5});
      EXPECT_NEAR(meanOf({&way[row], 5}), isBefore ? -decayed : 0, 1e-5);
      for (size_t i = row; i < row + 5; ++i)
        EXPECT_NEAR(way[i], plainly[i] - mean - (isBefore ? decayed : 0), 1e-5);
    }
  }
}

/// MindSpore's gradients keep their groups' scales in the subspace.
TEST(DimReduceWithLossScale, PowersOfTwoOfGroupsChangeNoBit) {
  Json groups = {{"type", "group"},
                 {"groups", Json::array({Json::array({"fc1.*", "norm.*"}),
                                         Json::array({"fc2.*"})})},
                 {"initial", {4096.0, 8.0}},
                 {"growth", 1.0}};
  Alone plainly(denseNetwork(), reduced(3, sgd(0.01, 0.9))),
      scaled(denseNetwork(),
             reduced(3, with(sgd(0.01, 0.9), {{"loss_scale", groups}})));
  plainly.steps(0, 5);
  scaled.steps(0, 5);
  EXPECT_EQ(scaled.state("loss_scale/0"), std::vector<double>{4096});
  EXPECT_GT(scaled.count(kAccepted), 0);
  expectSame(scaled.states(), plainly.states(), {"step/"});
}

TEST(DimReduceWithLossScale, AnOverflowOfAGroupChangesNothing) {
  Json groups = {{"type", "group"},
                 {"groups", Json::array({Json::array({"fc1.*", "norm.*"}),
                                         Json::array({"fc2.*"})})},
                 {"initial", 64.0},
                 {"growth", 1.0}};
  Alone calm(denseNetwork(), reduced(3, {{"loss_scale", groups}})),
      struck(denseNetwork(), reduced(3, {{"loss_scale", groups}}));
  for (int64_t update = 0; update < 4; ++update) {
    NamedTensors before = struck.states();
    struck.overflow();
    expectSame(struck.states(), before,
               {"loss_scale", "step", "skipped_steps"});
    calm.step(update);
    struck.step(update);
    expectClose(struck.parameters(), calm.parameters(), 1e-5);
    EXPECT_EQ(struck.count(kAccepted), calm.count(kAccepted));
  }
  EXPECT_EQ(struck.count("skipped_steps"), 4);
}

//===-- averages ----------------------------------------------------------===//

/// Slow weights follow those that steps end with; what the subspace knows is of
/// the steps alone.
TEST(DimReduceWithLookahead, SlowWeightsFollow) {
  Alone plainly(denseNetwork(), reduced(3)),
      run(denseNetwork(),
          reduced(3, {{"lookahead", {{"steps", 3}, {"rate", 0.25}}}}));
  NamedTensors start = run.parameters();
  plainly.steps(0, 3);
  run.steps(0, 3);
  ASSERT_GT(run.count(kAccepted), 0);
  for (const auto &[name, from] : start) {
    HostTensor want = from;
    Vector fast = plainly.state(name);
    for (size_t i = 0; i < fast.size(); ++i)
      want.floats[i] += 0.25 * (fast[i] - from.floats[i]);
    expectClose({{name, run.states().at(name)}}, {{name, want}}, 1e-6);
  }
  for (const char *name : {kInverse, "dim_reduce/gradient", "dim_reduce/step"})
    expectClose({{name, run.states().at(name)}},
                {{name, plainly.states().at(name)}}, 1e-6);
  EXPECT_EQ(run.count(kAccepted), plainly.count(kAccepted));
  run.steps(3, 6);
  expectFinite(run.states());
}

//===-- batches that are not full -----------------------------------------===//

/// A batch that is filled up has samples whose labels are ignored, in trials as
/// in the step.
TEST(DimReduceWithMaskedBatches, OnlyWhatCountsIsTried) {
  Json recipe = reduced(3, sgd(0.01, 0.9));
  Alone run(denseNetwork(), recipe), other(denseNetwork(), recipe),
      small(denseNetwork(), recipe, 5);
  Model model(denseNetwork(), run, 0.01, 0.9);
  for (int64_t update = 0; update < 4; ++update) {
    NamedTensors inputs = run.inputs(update);
    for (int64_t i = 5; i < kSamples; ++i)
      inputs.at("label").integers[i] = -100;
    run.stepOn(inputs);
    model.stepOn(inputs, update);
    small.step(update);
    for (int64_t i = 5 * 5; i < kSamples * 5; ++i)
      inputs.at("x").floats[i] *= -3;
    other.stepOn(inputs);
    SCOPED_TRACE(update);
    ASSERT_GT(model.margin, kClear);
    ASSERT_EQ(run.count(kAccepted), model.accepted);
    ASSERT_EQ(small.count(kAccepted), model.accepted);
    expectNearlyEqual(flat(run.parameters()), model.weights, 1e-4);
    expectClose(small.parameters(), run.parameters(), 1e-4);
    expectSame(other.states(), run.states());
  }
  EXPECT_GT(model.accepted, 0);
}

/// Where no label counts there is nothing to learn.
TEST(DimReduceWithMaskedBatches, NothingThatCountsMovesNothing) {
  Alone run(denseNetwork(), reduced(3));
  run.step(0);
  NamedTensors before = run.states(), inputs = run.inputs(1);
  inputs.at("label").integers.assign(kSamples, -100);
  run.stepOn(inputs);
  expectSame(run.states(), before, {"step"});
}

//===-- where a step runs -------------------------------------------------===//

/// A limit that holds leaves every bit as it is.
TEST(DimReduceWithMemoryLimit, AStepThatFitsIsTheSame) {
  for (const Network &network : {denseNetwork(), imageNetwork()}) {
    Alone free(network, reduced(3));
    uint64_t whole = free.session().memory().predicted();
    Alone bounded(network, reduced(3, {{"memory_limit", whole}}));
    ASSERT_TRUE(bounded.compiled().ok());
    EXPECT_LE(bounded.session().memory().predicted(), whole);
    free.steps(0, 3);
    bounded.steps(0, 3);
    EXPECT_GT(free.count(kAccepted), 0);
    expectSame(bounded.states(), free.states());
  }
}

TEST(DimReduceOnTheEmulatedGpu, FollowsTheRule) {
  setenv("GRADUS_EMULATED_LIBRARY",
         GRADUS_BINARY_DIR "/lib/libgradus_emulated.so", 1);
  for (const Network &network :
       {denseNetwork(), imageNetwork(), tokenNetwork()}) {
    Trained run(network, reduced(4, sgd(0.01, 0.9)), kSamples,
                {.device = "emulated"});
    ASSERT_EQ(run.session().states().empty(), false);
    Model model(network, run, 0.01, 0.9);
    for (int64_t update = 0; update < 4; ++update) {
      run.step(update);
      model.step(update);
      SCOPED_TRACE(update);
      ASSERT_GT(model.margin, kClear);
      ASSERT_EQ(run.count(kAccepted), model.accepted);
      expectNearlyEqual(flat(run.parameters()), model.weights, 1e-4);
    }
    EXPECT_GT(model.accepted, 0);
  }
  unsetenv("GRADUS_EMULATED_LIBRARY");
}
