// Biases that join their weights, where an update is clipped, and where in the
// order of methods gradients are preconditioned, through compiled graphs. The
// numbers are those of a second implementation in tests/data/vectors.

#include "trained.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

Json joined(const char *type = "thor", int64_t every = 2) {
  return {{"type", type}, {"bias", "joined"}, {"refresh", {{"every", every}}}};
}

Json withRate(double rate, double decay = 0) {
  return {
      {"optimizer",
       {{"type", "sgd"}, {"learning_rate", rate}, {"weight_decay", decay}}}};
}

/// The change of a parameter in a run's next step.
std::vector<double> moved(Trained &run, const std::string &name,
                          int64_t update = 0) {
  std::vector<double> before = run.state(name);
  run.step(update);
  return change(before, run.state(name));
}

Shape shapeOf(Trained &run, const std::string &name) {
  HostTensor tensor = run.states().at(name);
  return Shape(tensor.shape.begin(), tensor.shape.end());
}

/// A matrix of one block, [n, n].
struct Square {
  explicit Square(const HostTensor &tensor)
      : size(tensor.shape.back()), numbers(tensor.floats) {}
  double at(int64_t row, int64_t column) const {
    return numbers[row * size + column];
  }
  int64_t size;
  std::vector<double> numbers;
};

} // namespace

TEST(JoinedBias, MicroBatchesAreOneBatch) {
  for (const Network &network : {denseNetwork(), imageNetwork()})
    for (const char *type : {"thor", "kfac"}) {
      Trained whole(network, preconditioned(joined(type))),
          parts(network, preconditioned(joined(type), {{"accumulation", 4}}),
                2);
      for (int64_t update = 0; update < 4; ++update) {
        whole.step(update);
        for (int64_t first : {0, 2, 4, 6})
          parts.step(update, first);
        expectClose(parts.parameters(), whole.parameters(), 1e-4);
      }
    }
}

TEST(JoinedBias, ALossScaleChangesNoBit) {
  Json scaled = {{"loss_scale", {{"type", "static"}, {"initial", 4096}}}};
  for (const Network &network : {denseNetwork(), imageNetwork()}) {
    Trained run(network, preconditioned(joined())),
        same(network, preconditioned(joined(), scaled));
    for (int64_t update = 0; update < 4; ++update) {
      run.step(update);
      same.step(update);
      expectSame(same.parameters(), run.parameters());
    }
  }
}

/// The 1 is in a block of others, or in one of its own.
TEST(JoinedBias, HasABlockOfItsOwnWhereTheLastIsFull) {
  Json keys = joined();
  keys["block"] = 5; // fc1 has 5 inputs, fc2 has 6.
  Trained run(plainNetwork(), preconditioned(keys));
  run.step(0);
  EXPECT_EQ(shapeOf(run, "precondition/inputs/fc1.weight"), (Shape{2, 5, 5}));
  EXPECT_EQ(shapeOf(run, "precondition/inputs/fc2.weight"), (Shape{2, 5, 5}));
  // Alone in its block it is 1, damped.
  EXPECT_NEAR(run.state("precondition/inputs/fc1.weight")[25],
              1 / (1 + std::sqrt(0.03)), 1e-6);
  expectFinite(run.states());
}

/// A bias joins a weight that is used several times where it is added in each
/// use: the steps of a sequence, one by one or as rows of one product.
TEST(JoinedBias, IsOfAllUsesOfItsWeight) {
  for (int64_t steps : {2, 6}) {
    SCOPED_TRACE(steps);
    auto layer = [](ProgramBuilder &net, Tensor x) {
      Tensor y = net.matmul(x, net.parameter("w.weight", {6, 5}),
                            /*transposeB=*/true);
      return net.tanh(net.add(
          y, net.parameter("w.bias", {6}, std::vector<float>(6, 0.25F))));
    };
    auto head = [=](ProgramBuilder &net, std::vector<Tensor> hidden) {
      Tensor sum = hidden.front();
      for (int64_t step = 1; step < steps; ++step)
        sum = net.add(net.scale(net.tanh(sum), 0.5), hidden[step]);
      return net.dense("fc", sum, 4);
    };
    Network once = plainNetwork(), unrolled = once;
    once.sample = unrolled.sample = {steps, 5};
    once.layers = [=](ProgramBuilder &net, Tensor x) {
      Tensor y = layer(net, x);
      std::vector<Tensor> hidden;
      for (int64_t step = 0; step < steps; ++step)
        hidden.push_back(net.flatten(net.slice(y, 1, step, 1)));
      return head(net, hidden);
    };
    unrolled.layers = [=](ProgramBuilder &net, Tensor x) {
      Tensor weight = net.parameter("w.weight", {6, 5}),
             bias = net.parameter("w.bias", {6}, std::vector<float>(6, 0.25F));
      std::vector<Tensor> hidden;
      for (int64_t step = 0; step < steps; ++step) {
        Tensor part = net.flatten(net.slice(x, 1, step, 1));
        hidden.push_back(net.tanh(
            net.add(net.matmul(part, weight, /*transposeB=*/true), bias)));
      }
      return head(net, hidden);
    };
    for (const char *type : {"thor", "kfac"}) {
      Trained first(once, preconditioned(joined(type))),
          second(unrolled, preconditioned(joined(type)));
      first.steps(0, 5);
      second.steps(0, 5);
      for (Trained *each : {&first, &second})
        EXPECT_EQ(shapeOf(*each, "precondition/inputs/w.weight"),
                  (Shape{1, 6, 6}));
      expectClose(second.parameters(), first.parameters(), 1e-5);
    }
  }
}

/// A weight that rests has no gradient: its bias moves as if that were 0.
/// Groups that begin at names may begin between the two.
TEST(JoinedBias, MovesAloneWhereItsWeightRests) {
  Json freeze = {{"gradient_freeze",
                  {{"groups", 2}, {"by_name", true}, {"strategy", {0, 1}}}}};
  freeze.update(withRate(1.0));
  Json still = withRate(1.0);
  Network network = plainNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.tanh(net.dense("fc0", x, 5));
    Tensor y = net.matmul(x, net.parameter("fc1.weight", {6, 5}),
                          /*transposeB=*/true);
    y = net.add(y,
                net.parameter("fc1.shift", {6}, std::vector<float>(6, 0.25F)));
    return net.dense("fc2", net.tanh(y), 4);
  };
  Trained run(network, preconditioned(joined("thor", 5), freeze));
  EXPECT_EQ(run.step(0), "train_refresh");
  // The gradient of the second step is that of plain descent from there.
  Trained plainly(network, plain(still));
  for (const auto &[name, value] : run.parameters())
    plainly.compiled().setState(name, value);
  std::vector<double> gradient = moved(plainly, "fc1.shift", 1);
  std::vector<double> weight = run.state("fc1.weight"),
                      before = run.state("fc1.shift");
  EXPECT_EQ(run.step(1), "train_cut1");
  EXPECT_EQ(run.state("fc1.weight"), weight);
  std::vector<double> way = change(before, run.state("fc1.shift"));
  Square inputs(run.states().at("precondition/inputs/fc1.weight")),
      outputs(run.states().at("precondition/outputs/fc1.weight"));
  ASSERT_EQ(inputs.size, 6);
  for (int64_t row = 0; row < outputs.size; ++row) {
    double expected = 0;
    for (int64_t k = 0; k < outputs.size; ++k)
      expected += outputs.at(row, k) * gradient[k] * inputs.at(5, 5);
    EXPECT_NEAR(way[row], expected, 1e-5 * (1 + std::abs(expected)));
  }
  EXPECT_GT(normOf(way), 0);
}

TEST(Placement, ComesAfterClippingAndDecayIfSaid) {
  Json keys = {{"refresh", {{"every", 2}}},
               {"kinds", {"dense"}},
               {"placement", "after_weight_decay"}};
  Json clipped = {{"clip", {{"type", "global_norm"}, {"value", 0.125}}}};
  Json more = withRate(1.0, 0.25);
  more.update(clipped);
  Trained run(plainNetwork(), preconditioned(keys, more)),
      plainly(plainNetwork(), plain(more));
  NamedTensors start = run.parameters();
  run.step(0);
  plainly.step(0);
  for (const char *name : {"fc1.weight", "fc2.weight"}) {
    HostTensor gradient = start.at(name), found = gradient, want = gradient;
    gradient.floats = change(plainly.state(name), start.at(name).floats);
    want.floats = directionOf(run.states(), name, gradient);
    found.floats = change(run.state(name), start.at(name).floats);
    expectClose({{name, found}}, {{name, want}}, 1e-5);
    EXPECT_GT(normOf(found.floats), 0.125);
  }
}

/// What moves a parameter, its decay included, is at most as long as the key
/// says, and as it was where it is shorter.
TEST(ClipUpdate, BoundsTheUpdateOfEachParameter) {
  Json keys = {{"refresh", {{"every", 2}}}}, more = withRate(1.0, 0.5);
  Trained free(denseNetwork(), preconditioned(keys, more));
  NamedTensors start = free.parameters();
  free.step(0);
  double least = INFINITY, most = 0;
  for (const auto &[name, from] : start) {
    double length = normOf(change(from.floats, free.state(name)));
    least = std::min(least, length);
    most = std::max(most, length);
  }
  double bound = std::sqrt(least * most);
  more["clip_update"] = {
      {"type", "norm"}, {"value", bound}, {"norm_epsilon", 0.0}};
  Trained run(denseNetwork(), preconditioned(keys, more));
  run.step(0);
  for (const auto &[name, from] : start) {
    std::vector<double> way = change(from.floats, free.state(name)),
                        found = change(from.floats, run.state(name));
    double factor = std::min(1.0, bound / normOf(way));
    for (size_t i = 0; i < way.size(); ++i)
      EXPECT_NEAR(found[i], factor * way[i], 1e-5 * (1 + std::abs(way[i])))
          << name;
  }
  EXPECT_LT(least, bound);
  EXPECT_GT(most, bound);
}
