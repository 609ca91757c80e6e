// Layers of different kinds that compute the same have the same curvature, and
// of one sample it is the gradient's own square.

#include "trained.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

Network of(Shape sample,
           std::function<Tensor(ProgramBuilder &, Tensor)> layers) {
  return {.sample = sample,
          .positions = {},
          .classes = 4,
          .tokens = 0,
          .layers = std::move(layers)};
}

/// Expects two networks to train alike whose parameters differ in shape alone.
void expectSameTraining(const Network &one, const Network &other) {
  for (const Json &keys :
       {Json{{"refresh", {{"every", 2}}}},
        Json{{"block", 4}, {"refresh", {{"every", 3}}}},
        Json{{"type", "kfac"},
             {"refresh", {{"every", 4}, {"measure_every", 2}}}}}) {
    SCOPED_TRACE(keys.dump());
    Trained first(one, preconditioned(keys)),
        second(other, preconditioned(keys));
    for (auto &[name, value] : first.parameters()) {
      HostTensor shaped = second.states().at(name);
      ASSERT_EQ(shaped.size(), value.size()) << name;
      shaped.floats = value.floats;
      second.compiled().setState(name, shaped);
    }
    first.steps(0, 6);
    second.steps(0, 6);
    for (auto &[name, value] : first.states())
      if (second.states().contains(name) && value.isFloat) {
        HostTensor want = second.states().at(name);
        ASSERT_EQ(want.size(), value.size()) << name;
        want.floats = value.floats;
        expectClose({{name, second.states().at(name)}}, {{name, want}}, 1e-5);
      }
    EXPECT_TRUE(second.states().contains("precondition/inputs/layer.weight"));
  }
}

} // namespace

TEST(Identity, AConvolutionOfOneElementIsADenseLayer) {
  Network dense = of({5}, [](ProgramBuilder &net, Tensor x) {
    return net.dense("fc", net.tanh(net.dense("layer", x, 6)), 4);
  });
  Network convolution = of({5, 1, 1}, [](ProgramBuilder &net, Tensor x) {
    x = net.convolution("layer", x, 6, {.size = {1, 1}}, /*bias=*/true);
    return net.dense("fc", net.flatten(net.tanh(x)), 4);
  });
  // Both draw the same numbers for samples.
  expectSameTraining(dense, convolution);
}

TEST(Identity, AWindowOfTheWholeImageIsADenseLayer) {
  Network dense = of({2, 3, 4}, [](ProgramBuilder &net, Tensor x) {
    return net.dense("fc", net.tanh(net.dense("layer", net.flatten(x), 6)), 4);
  });
  Network convolution = of({2, 3, 4}, [](ProgramBuilder &net, Tensor x) {
    x = net.convolution("layer", x, 6, {.size = {3, 4}}, /*bias=*/true);
    return net.dense("fc", net.flatten(net.tanh(x)), 4);
  });
  expectSameTraining(dense, convolution);
}

/// The factors of a single sample: A x G is g g^T, in the order of the
/// gradient's elements.
TEST(Identity, OfOneSampleTheFactorsAreTheGradientsSquare) {
  for (const Network &network : {denseNetwork(), plainNetwork()}) {
    Json sgd = {{"optimizer", {{"type", "sgd"}, {"learning_rate", 1.0}}}};
    Trained run(network, preconditioned({{"type", "kfac"}}, sgd), /*batch=*/1),
        plainly(network, plain(sgd), /*batch=*/1);
    NamedTensors start = plainly.parameters();
    run.step(0);
    plainly.step(0);
    for (const char *layer : {"fc1.weight", "fc2.weight"}) {
      const std::vector<double> g =
          change(plainly.state(layer), start.at(layer).floats);
      const HostTensor a = run.states().at(
                           std::string("precondition/mean_inputs/") + layer),
                       b = run.states().at(
                           std::string("precondition/mean_outputs/") + layer);
      int64_t inputs = a.shape.back(), outputs = b.shape.back();
      ASSERT_EQ(int64_t(g.size()), inputs * outputs);
      double largest = normOf(g) * normOf(g);
      ASSERT_GT(largest, 0);
      for (int64_t i = 0; i < outputs; ++i)
        for (int64_t j = 0; j < inputs; ++j)
          for (int64_t k = 0; k < outputs; ++k)
            for (int64_t l = 0; l < inputs; ++l)
              ASSERT_NEAR(b.floats[i * outputs + k] * a.floats[j * inputs + l],
                          g[i * inputs + j] * g[k * inputs + l], 1e-5 * largest)
                  << layer;
    }
  }
}
