// Roundings by chance stand for those of any machine, and for no more.

#include "ir/evaluator/roundings.h"

#include "tests/ir/graphs.h"

#include <cmath>

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

/// The graph `y` of inputs and statements.
OwningOpRef<ModuleOp> graph(const std::string &inputs,
                            const std::string &statements,
                            const std::string &type) {
  return parse("gradus.program @test {\n gradus.graph @test(" + inputs +
               ") -> (y: " + type + ") {\n" + statements +
               "\n gradus.return %y : " + type + "\n }\n}");
}

std::vector<double> outputOf(ModuleOp module, ArrayRef<HostTensor> inputs,
                             Settling *settling = nullptr) {
  StateMap states;
  Settling none;
  auto outputs = evaluateSettling(graphOf(module), inputs, states, nullptr,
                                  settling ? *settling : none);
  return succeeded(outputs) ? outputs->front().floats : std::vector<double>();
}

/// How far roundings carry an element of `y`. Of one element two draws may move
/// the same way.
double carried(ModuleOp module, ArrayRef<HostTensor> inputs) {
  std::vector<double> exact = outputOf(module, inputs);
  EXPECT_FALSE(exact.empty()) << "the graph does not run";
  double farthest = 0;
  for (int draw = 1; draw <= 4; ++draw) {
    Roundings roundings(draw);
    std::vector<double> moved = outputOf(module, inputs, &roundings);
    EXPECT_EQ(moved.size(), exact.size());
    for (auto [one, other] : llvm::zip(moved, exact))
      farthest = std::max(farthest, std::abs(one - other));
  }
  return farthest;
}

HostTensor randoms(std::vector<int64_t> shape, double least) {
  HostTensor tensor = zeros(shape);
  std::mt19937 random(7);
  for (double &number : tensor.floats)
    number = static_cast<float>(
        std::uniform_real_distribution<double>(least, 1)(random));
  return tensor;
}

} // namespace

TEST(Roundings, HaveAUnitByType) {
  Builder builder(&context());
  EXPECT_EQ(roundingUnit(builder.getF32Type()), std::ldexp(1, -24));
  EXPECT_EQ(roundingUnit(builder.getBF16Type()), std::ldexp(1, -8));
  EXPECT_EQ(roundingUnit(builder.getF64Type()), std::ldexp(1, -53));
  EXPECT_EQ(roundingUnit(builder.getI64Type()), 0);
}

TEST(Roundings, KeepNumbersInTheirType) {
  Builder builder(&context());
  HostTensor narrow = floats({2}, {1 + 1.0 / 512, -3}),
             wide = floats({3}, {1 + 1e-12, 4e38, -4e38});
  settleTo(builder.getBF16Type(), narrow);
  settleTo(builder.getF32Type(), wide);
  EXPECT_EQ(narrow.floats, (std::vector<double>{1, -3}));
  EXPECT_EQ(wide.floats, (std::vector<double>{1 + 1e-12, INFINITY, -INFINITY}));
}

/// How far they carry attention to a single key, whose result is its value.
static double carriedByAttention(int features, const std::string &element) {
  std::string shape = "tensor<1x1x1x" + std::to_string(features) + "x",
              wide = shape + "f32>", given = shape + element + ">",
              row = "tensor<1x1x1xf32>";
  std::string begin =
      element == "f32" ? ""
                       : "%x = arith.extf %g : " + given + " to " + wide + "\n";
  auto module = graph(
      (element == "f32" ? "%x: " : "%g: ") + given,
      begin + "%y, %l:2 = gradus.attention %x, %x, %x {scale = 0.5 : f64} : (" +
          wide + ", " + wide + ", " + wide + ") -> (" + wide + ", " + row +
          ", " + row + ")",
      wide);
  HostTensor input = zeros({1, 1, 1, features});
  for (double &number : input.floats)
    number = 0.75;
  return carried(*module, input);
}

TEST(Roundings, AreThoseOfBf16WhereAttentionMultipliesIt) {
  EXPECT_NEAR(carriedByAttention(4, "bf16"), 0.75 / 256, 1e-5);
  EXPECT_LT(carriedByAttention(3, "bf16"), 1e-5);
  EXPECT_LT(carriedByAttention(4, "f32"), 1e-5);
}

TEST(Roundings, LeaveWhatOpsOnlyMove) {
  auto module = graph("%x: tensor<2x3xf32>",
                      "%0 = gradus.transpose %x perm [1, 0] : "
                      "tensor<2x3xf32> -> tensor<3x2xf32>\n"
                      "%y = gradus.relu %0 : tensor<3x2xf32>",
                      "tensor<3x2xf32>");
  EXPECT_EQ(carried(*module, {randoms({2, 3}, 0.1)}), 0);
}

/// In f32, term after term, all positive: the worst that a kernel does. Less
/// than a term is allowed, so that none can be missing.
TEST(Roundings, CoverASumInOrderButNoMissingTerm) {
  const int64_t count = 4096;
  auto module = graph("%a: tensor<1x4096xf32>, %b: tensor<4096x1xf32>",
                      "%y = gradus.matmul %a, %b : tensor<1x4096xf32>, "
                      "tensor<4096x1xf32> -> tensor<1x1xf32>",
                      "tensor<1x1xf32>");
  std::vector<HostTensor> inputs = {randoms({1, count}, 0.1),
                                    randoms({count, 1}, 0.1)};
  float sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<float>(inputs[0].floats[i]) *
           static_cast<float>(inputs[1].floats[i]);
  double limit = 4 * carried(*module, inputs);
  EXPECT_LT(std::abs(sum - outputOf(*module, inputs)[0]), limit);
  double missing = inputs[0].floats[9] * inputs[1].floats[9];
  EXPECT_GT(missing, limit);
}

/// Where numbers cancel, what is left of them is rounding, and no limit in
/// parts of the result could say so.
TEST(Roundings, GrowWhereNumbersCancel) {
  auto module = graph("%x: tensor<8xf32>, %z: tensor<8xf32>",
                      "%0 = math.exp %x : tensor<8xf32>\n"
                      "%1 = arith.addf %0, %z : tensor<8xf32>\n"
                      "%y = arith.subf %1, %0 : tensor<8xf32>",
                      "tensor<8xf32>");
  HostTensor small = zeros({8});
  small.floats.assign(8, 1e-7);
  double found = carried(*module, {randoms({8}, 0.1), small});
  EXPECT_GT(found, 1e-8);
  EXPECT_LT(found, 1e-5);
}

/// How far they carry two steps of `a = a + b`, where `b` is computed by
/// `statements` from `a` and from what is the same in both.
static double carriedByTwoSteps(const std::string &statements) {
  auto module = graph("%x: tensor<8xf32>",
                      "%y = gradus.scan 2 carry(%x : tensor<8xf32>) with(%x : "
                      "tensor<8xf32>) body {\n^bb0(%a: tensor<8xf32>, %same: "
                      "tensor<8xf32>):\n" +
                          statements +
                          "%d = arith.addf %a, %b : tensor<8xf32>\n"
                          "gradus.yield %d : tensor<8xf32>\n} -> tensor<8xf32>",
                      "tensor<8xf32>");
  return carried(*module, {randoms({8}, 0.5)});
}

TEST(Roundings, LeaveWhatStepsOnlyMove) {
  auto module = graph("%x: tensor<8xf32>",
                      "%y = gradus.scan 2 carry(%x : tensor<8xf32>) body {\n"
                      "^bb0(%a: tensor<8xf32>):\n"
                      "%b = gradus.relu %a : tensor<8xf32>\n"
                      "gradus.yield %b : tensor<8xf32>\n} -> tensor<8xf32>",
                      "tensor<8xf32>");
  EXPECT_EQ(carried(*module, {randoms({8}, 0.1)}), 0);
}

/// A number next to a limit of bf16 may be rounded the other way in a step, as
/// it may outside of one.
TEST(Roundings, KnowThatStepsRound) {
  auto rounded = [](const std::string &value) {
    return "%c = arith.truncf " + value +
           " : tensor<8xf32> to tensor<8xbf16>\n%e = arith.extf %c : "
           "tensor<8xbf16> to tensor<8xf32>\n";
  };
  std::string tiny = "%s = arith.constant dense<1.0e-4> : tensor<8xf32>\n"
                     "%b = arith.mulf %e, %s : tensor<8xf32>\n";
  EXPECT_LT(carriedByTwoSteps("%b = arith.negf %a : tensor<8xf32>\n"), 1e-5);
  EXPECT_GT(
      carriedByTwoSteps(rounded("%a") + "%b = math.absf %e : tensor<8xf32>\n"),
      1e-3);
  // All else of a step is off by what f32 loses.
  EXPECT_LT(carriedByTwoSteps(rounded("%a") + tiny), 1e-5);
  EXPECT_LT(carriedByTwoSteps(rounded("%same") + tiny), 1e-5);
}

namespace {

using Numbers = std::vector<float>;

/// A matrix of `rows` times a 6x6 or 3x3 tile times the matrix transposed, each
/// sum in f32.
Numbers transformed(const std::vector<std::vector<double>> &rows,
                    const Numbers &tile) {
  size_t inner = rows[0].size(), width = rows.size();
  Numbers half(width * inner), whole(width * width);
  for (size_t i = 0; i < width; ++i)
    for (size_t j = 0; j < inner; ++j)
      for (size_t k = 0; k < inner; ++k)
        half[i * inner + j] +=
            static_cast<float>(rows[i][k]) * tile[k * inner + j];
  for (size_t i = 0; i < width; ++i)
    for (size_t j = 0; j < width; ++j)
      for (size_t k = 0; k < inner; ++k)
        whole[i * width + j] +=
            half[i * inner + k] * static_cast<float>(rows[j][k]);
  return whole;
}

constexpr int64_t kChannels = 32, kSize = 4;

/// A tile of F(4x4, 3x3) at the points 0, +-5/8, +-3/2 and infinity.
Numbers byWinograd(const HostTensor &input, const HostTensor &weight) {
  const double a = 5.0 / 8, b = 3.0 / 2, s = a * a + b * b, p = a * a * b * b,
               f = 1 / (2 * a * a * (a * a - b * b)),
               g = 1 / (2 * b * b * (b * b - a * a));
  Numbers sums(36);
  for (int64_t c = 0; c < kChannels; ++c) {
    Numbers x(36), w(9);
    for (int64_t i = 0; i < 16; ++i)
      x[(i / 4 + 1) * 6 + i % 4 + 1] =
          static_cast<float>(input.floats[c * 16 + i]);
    for (int64_t i = 0; i < 9; ++i)
      w[i] = static_cast<float>(weight.floats[c * 9 + i]);
    x = transformed({{p, 0, -s, 0, 1, 0},
                     {0, -a * b * b, -b * b, a, 1, 0},
                     {0, a * b * b, -b * b, -a, 1, 0},
                     {0, -b * a * a, -a * a, b, 1, 0},
                     {0, b * a * a, -a * a, -b, 1, 0},
                     {0, p, 0, -s, 0, 1}},
                    x);
    w = transformed({{1 / p, 0, 0},
                     {f, a * f, a * a * f},
                     {f, -a * f, a * a * f},
                     {g, b * g, b * b * g},
                     {g, -b * g, b * b * g},
                     {0, 0, 1}},
                    w);
    for (int64_t i = 0; i < 36; ++i)
      sums[i] += x[i] * w[i];
  }
  return transformed({{1, 1, 1, 1, 1, 0},
                      {0, a, -a, b, -b, 0},
                      {0, a * a, a * a, b * b, b * b, 0},
                      {0, a * a * a, -a * a * a, b * b * b, -b * b * b, 1}},
                     sums);
}

} // namespace

/// Few channels allow the least, for limits grow with the terms of sums. A term
/// that is missing stays outside.
TEST(Roundings, CoverWinogradsAlgorithmButNoMissingTerm) {
  auto module =
      graph("%x: tensor<1x32x4x4xf32>, %w: tensor<1x32x3x3xf32>",
            "%y = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to "
            "[1, 1] dilations [1, 1] : tensor<1x32x4x4xf32>, "
            "tensor<1x32x3x3xf32> -> tensor<1x1x4x4xf32>",
            "tensor<1x1x4x4xf32>");
  std::vector<HostTensor> inputs = {randoms({1, kChannels, kSize, kSize}, -1),
                                    randoms({1, kChannels, 3, 3}, -1)};
  double limit = 4 * carried(*module, inputs);
  std::vector<double> exact = outputOf(*module, inputs);
  Numbers found = byWinograd(inputs[0], inputs[1]);
  ASSERT_EQ(found.size(), exact.size());
  double farthest = 0;
  for (auto [one, other] : llvm::zip(found, exact))
    farthest = std::max(farthest, std::abs(one - other));
  EXPECT_GT(farthest, 0);
  EXPECT_LT(farthest, limit);
  EXPECT_GT(std::abs(inputs[0].floats[5] * inputs[1].floats[4]), limit);
}
