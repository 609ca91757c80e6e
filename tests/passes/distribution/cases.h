// A small network, its samples, and what changes them: cases in which ranks are
// compared with one process.
#pragma once

#include "ranks.h"

#include <gtest/gtest.h>

namespace gradus::testing {

constexpr int64_t kFeatures = 3, kClasses = 4;
constexpr int64_t kIgnored = -100;

inline std::string replaced(std::string text, const std::string &what,
                            const std::string &by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;)
    text.replace(at, what.size(), by);
  return text;
}

inline const char *const kNetwork = R"(
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

inline const char *const kBatchNorm = R"(
    %scale = gradus.read @scale : tensor<8xf32>
    %mean = gradus.read @mean : tensor<8xf32>
    %variance = gradus.read @variance : tensor<8xf32>
    %n = gradus.batch_norm %a, %scale, %scale mean %mean variance %variance epsilon 1.0e-5 momentum 0.75 : tensor<Bx8xf32>, tensor<8xf32>
)";
inline const char *const kNoNorm = R"(
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
  std::string states = "";  // of the program, beside its own
  double tolerance = 1e-12; // of all numbers
};

inline std::string program(const Case &test, int64_t batch, bool isShared) {
  std::string recipe = test.recipe;
  if (isShared)
    recipe += ", distribution = {mode = \"data_parallel\"" + test.keys + "}";
  std::string text =
      replaced(replaced(kNetwork, "NORM", test.norm), "RECIPE", recipe);
  text.insert(text.find("  gradus.state"), test.states);
  return replaced(text, "<Bx", "<" + std::to_string(batch) + "x");
}

/// The inputs of all samples of a step.
inline Inputs samples(const Case &test, int step, int64_t count) {
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
inline Inputs partOf(const Inputs &all, int rank, int ranks) {
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
inline double toleranceOf(const std::string &name, double tolerance) {
  return name == "variance" ? std::max(tolerance, 1e-7) : tolerance;
}

inline void expectEqual(const HostTensor &found, const HostTensor &expected,
                        const std::string &name, double tolerance = 1e-12) {
  EXPECT_EQ(found.integers, expected.integers) << name;
  ASSERT_EQ(found.floats.size(), expected.floats.size()) << name;
  for (size_t i = 0; i < found.floats.size(); ++i)
    if (std::isnan(expected.floats[i]))
      EXPECT_TRUE(std::isnan(found.floats[i])) << name;
    else
      EXPECT_NEAR(found.floats[i], expected.floats[i],
                  toleranceOf(name, tolerance) *
                      (1 + std::abs(expected.floats[i])))
          << name << " at " << i;
}

inline const std::string kSgd =
    ", optimizer = {type = \"sgd\", learning_rate = 0.5, "
    "momentum = 0.9}";
inline const std::string kClassLoss =
    "loss = {type = \"softmax_cross_entropy\"}" + kSgd;

/// Trains on ranks and on one process with the samples of all, whose states are
/// returned.
inline StateMap expectExact(const Case &test, int count) {
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
        expectEqual(found[rank][name], value, name, test.tolerance);
  }
  for (const auto &state : alone.states(0))
    for (int rank = 0; rank < count; ++rank)
      if (!state.first().starts_with("accumulation/") &&
          !ranks.program().getState(state.first())->hasAttr(kPartOf))
        expectEqual(ranks.states(rank)[state.first()], state.second,
                    state.first().str(), test.tolerance);
  return alone.states(0);
}

/// Leaves labels out, most of them on the second rank.
inline void ignore(int, Inputs &inputs) {
  auto &labels = inputs[1].integers;
  labels[0] = kIgnored;
  for (size_t i = 4; i < 8; ++i)
    labels[i] = kIgnored;
}

} // namespace gradus::testing
