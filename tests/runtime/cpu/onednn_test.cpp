#include "runtime/cpu/onednn.h"
#include "tests/runtime/library_ops.h"

#include "allocations.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

using namespace gradus::runtime;
namespace artifact = gradus::artifact;
using gradus::artifact::Activation;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommand;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using gradus::artifact::LibraryTensorT;

namespace {

using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;

Floats randomFloats(size_t count) {
  static std::mt19937 random(7);
  std::uniform_real_distribution<float> range(-1, 1);
  Floats values(count);
  for (float &value : values)
    value = range(random);
  return values;
}

int64_t product(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

/// A command with its buffers, numbered in the order in which they are added.
struct Call {
  explicit Call(LibraryOp op) { command.op = opOf(op); }

  LibraryCommandT command;
  std::vector<Floats> memory;
  int times = 1;
  int64_t allocated = 0; // in all runs but the first

  LibraryTensorT &add(const Dims &dims, bool isOutput) {
    auto tensor = std::make_unique<LibraryTensorT>();
    tensor->buffer = static_cast<uint32_t>(memory.size());
    tensor->dims = dims;
    memory.push_back(randomFloats(static_cast<size_t>(product(dims))));
    auto &list = isOutput ? command.outputs : command.inputs;
    list.push_back(std::move(tensor));
    return *list.back();
  }

  /// Runs it with `logical` parts; what it said.
  Status run(int threads = 2, int logical = 2) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(LibraryCommand::Pack(builder, &command));
    std::vector<uint8_t *> buffers;
    for (Floats &values : memory)
      buffers.push_back(reinterpret_cast<uint8_t *>(values.data()));
    ThreadPool pool(threads);
    auto call = OneDnnCall::create(
        *flatbuffers::GetRoot<LibraryCommand>(builder.GetBufferPointer()),
        buffers, pool, logical);
    if (!call.ok())
      return call.status();
    std::vector<char> scratch((*call)->scratchSize() + 64);
    if (Status status = (*call)->setScratch(scratch.data()); !status.ok())
      return status;
    Status status;
    for (int i = 0; i < times && status.ok(); ++i) {
      int64_t before = gradus::test::allocations();
      status = (*call)->run();
      if (i > 0)
        allocated += gradus::test::allocations() - before;
    }
    return status;
  }
};

void expectNear(const Floats &found, const Floats &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
}

//===-- references --------------------------------------------------------===//

struct Shape { // of a convolution with square windows
  int64_t n, i, o, size, window, stride, pad;
  int64_t out() const { return (size + 2 * pad - window) / stride + 1; }
  Dims source() const { return {n, i, size, size}; }
  Dims weights() const { return {o, i, window, window}; }
  Dims result() const { return {n, o, out(), out()}; }
};

/// Calls f(source, weight, result) with the flat indexes of each product.
template <typename Visit> void convolve(const Shape &s, Visit visit) {
  int64_t out = s.out();
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t o = 0; o < s.o; ++o)
      for (int64_t i = 0; i < s.i; ++i)
        for (int64_t y = 0; y < out * out * s.window * s.window; ++y) {
          int64_t w = y % s.window, h = y / s.window % s.window;
          int64_t column = y / (s.window * s.window) % out,
                  row = y / (s.window * s.window * out);
          int64_t sy = row * s.stride + h - s.pad,
                  sx = column * s.stride + w - s.pad;
          if (sy >= 0 && sx >= 0 && sy < s.size && sx < s.size)
            visit(((n * s.i + i) * s.size + sy) * s.size + sx,
                  ((o * s.i + i) * s.window + h) * s.window + w,
                  ((n * s.o + o) * out + row) * out + column);
        }
}

constexpr Shape kShape = {3, 4, 6, 9, 3, 2, 1};

Call convolution(LibraryOp op) {
  Call call(op);
  windowsOf(call.command).strides = {kShape.stride, kShape.stride};
  windowsOf(call.command).pads_begin =
      windowsOf(call.command).pads_end = {kShape.pad, kShape.pad};
  return call;
}

} // namespace

TEST(OneDnn, MultipliesWithBiasAndActivation) {
  Call call(LibraryOp::matmul);
  activationOf(call.command) = Activation::relu;
  call.add({5, 7}, false);
  call.add({7, 3}, false);
  call.add({1, 3}, false);
  call.add({5, 3}, true);
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  Floats expected(15);
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 3; ++n) {
      float sum = call.memory[2][n];
      for (int k = 0; k < 7; ++k)
        sum += call.memory[0][m * 7 + k] * call.memory[1][k * 3 + n];
      expected[m * 3 + n] = std::max(sum, 0.0f);
    }
  expectNear(call.memory[3], expected);
}

TEST(OneDnn, MultipliesATransposedMatrix) {
  Call call(LibraryOp::matmul);
  call.add({5, 7}, false).strides = {1, 5}; // stored as [7, 5]
  call.add({7, 3}, false).strides = {1, 7}; // stored as [3, 7]
  call.add({5, 3}, true);
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  Floats expected(15);
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 3; ++n)
      for (int k = 0; k < 7; ++k)
        expected[m * 3 + n] +=
            call.memory[0][k * 5 + m] * call.memory[1][n * 7 + k];
  expectNear(call.memory[2], expected);
}

TEST(OneDnn, AppliesEachActivation) {
  const std::pair<Activation, double (*)(double)> kActivations[] = {
      {Activation::tanh, [](double x) { return std::tanh(x); }},
      {Activation::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Activation::gelu_erf,
       [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {Activation::gelu_tanh,
       [](double x) {
         return x / 2 *
                (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x)));
       }},
  };
  for (auto [activation, function] : kActivations) {
    Call call(LibraryOp::matmul);
    activationOf(call.command) = activation;
    call.add({2, 1}, false);
    call.add({1, 2}, false);
    call.add({2, 2}, true);
    ASSERT_TRUE(call.run().ok());
    Floats expected;
    for (float a : call.memory[0])
      for (float b : call.memory[1])
        expected.push_back(static_cast<float>(function(a * b)));
    expectNear(call.memory[2], expected);
  }
}

// What is not a number must reach the loss, as it does without the library.
TEST(OneDnn, ActivationsKeepWhatIsNotANumber) {
  for (Activation activation :
       {Activation::relu, Activation::tanh, Activation::sigmoid,
        Activation::gelu_erf, Activation::gelu_tanh}) {
    Call call(LibraryOp::matmul);
    activationOf(call.command) = activation;
    call.add({2, 3}, false);
    call.add({3, 20}, false);
    call.add({2, 20}, true);
    call.memory[0][1] = std::nanf("");
    ASSERT_TRUE(call.run().ok());
    EXPECT_TRUE(std::isnan(call.memory[2][0]))
        << artifact::EnumNameActivation(activation);
    EXPECT_FALSE(std::isnan(call.memory[2][20])) << "the other row";
  }
}

TEST(OneDnn, ReluOfAConvolutionKeepsWhatIsNotANumber) {
  Call call = convolution(LibraryOp::convolution);
  activationOf(call.command) = Activation::relu;
  call.add(kShape.source(), false);
  call.add(kShape.weights(), false);
  call.add(kShape.result(), true);
  call.memory[0][0] = std::nanf("");
  ASSERT_TRUE(call.run().ok());
  EXPECT_TRUE(std::isnan(call.memory[2][0]));
}

// All numbers but those that are not normal, and infinity.
TEST(OneDnn, ReluIsExact) {
  Call call(LibraryOp::matmul);
  activationOf(call.command) = Activation::relu;
  const Floats numbers = {0,     1,       -1,     1e-38f,   -1e-38f, 3e-38f,
                          1e-5f, -1e-5f,  0.1f,   16777216, 3.4e38f, -3.4e38f,
                          1e30f, -1e-30f, 1e-30f, INFINITY};
  call.add({1, 1}, false);
  call.add({1, 16}, false);
  call.add({1, 16}, true);
  call.memory[0] = {1};
  call.memory[1] = numbers;
  ASSERT_TRUE(call.run().ok());
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(call.memory[2][i], std::max(numbers[i], 0.0f)) << numbers[i];
  call.memory[0] = {-INFINITY};
  ASSERT_TRUE(call.run().ok());
  EXPECT_TRUE(std::isnan(call.memory[2][1])) << "as the page says";
}

TEST(OneDnn, ConvolvesWithBias) {
  Call call = convolution(LibraryOp::convolution);
  call.add(kShape.source(), false);
  call.add(kShape.weights(), false);
  call.add({kShape.o}, false);
  call.add(kShape.result(), true);
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  int64_t plane = kShape.out() * kShape.out();
  Floats expected(call.memory[3].size());
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = call.memory[2][static_cast<int64_t>(i) / plane % kShape.o];
  convolve(kShape, [&](int64_t s, int64_t w, int64_t r) {
    expected[r] += call.memory[0][s] * call.memory[1][w];
  });
  expectNear(call.memory[3], expected);
}

TEST(OneDnn, GivesTheGradientOfTheSource) {
  Call call = convolution(LibraryOp::convolution_backward_data);
  call.add(kShape.result(), false);
  call.add(kShape.weights(), false);
  call.add(kShape.source(), true);
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  Floats expected(call.memory[2].size());
  convolve(kShape, [&](int64_t s, int64_t w, int64_t r) {
    expected[s] += call.memory[0][r] * call.memory[1][w];
  });
  expectNear(call.memory[2], expected);
}

TEST(OneDnn, GivesTheGradientsOfWeightsAndBias) {
  Call call = convolution(LibraryOp::convolution_backward_weights);
  call.add(kShape.source(), false);
  call.add(kShape.result(), false);
  call.add(kShape.weights(), true);
  call.add({kShape.o}, true);
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  Floats weights(call.memory[2].size()), bias(kShape.o);
  convolve(kShape, [&](int64_t s, int64_t w, int64_t r) {
    weights[w] += call.memory[0][s] * call.memory[1][r];
  });
  int64_t plane = kShape.out() * kShape.out();
  for (size_t i = 0; i < call.memory[1].size(); ++i)
    bias[static_cast<int64_t>(i) / plane % kShape.o] += call.memory[1][i];
  expectNear(call.memory[2], weights);
  expectNear(call.memory[3], bias);
}

TEST(OneDnn, ReordersIntoBlocks) {
  Call call(LibraryOp::reorder);
  call.add({1, 32, 2, 2}, false);
  LibraryTensorT &blocked = call.add({1, 32, 2, 2}, true); // nChw16c
  blocked.strides = {128, 64, 32, 16};
  blocked.padded_dims = {1, 32, 2, 2};
  blocked.inner_blocks = {16};
  blocked.inner_axes = {1};
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  for (int c = 0; c < 32; ++c)
    for (int at = 0; at < 4; ++at)
      EXPECT_EQ(call.memory[1][c / 16 * 64 + at * 16 + c % 16],
                call.memory[0][c * 4 + at]);
}

TEST(OneDnn, GivesTheSameBitsForOneLogicalThread) {
  Floats first;
  for (int threads : {1, 2, 3}) {
    Call call = convolution(LibraryOp::convolution_backward_weights);
    call.add(kShape.source(), false);
    call.add(kShape.result(), false);
    call.add(kShape.weights(), true);
    for (size_t i = 0; i < 2; ++i)
      for (size_t k = 0; k < call.memory[i].size(); ++k)
        call.memory[i][k] = std::sin(static_cast<float>(k + i));
    ASSERT_TRUE(call.run(threads, 1).ok());
    if (first.empty())
      first = call.memory[2];
    EXPECT_EQ(call.memory[2], first);
  }
}

// Layouts without blocks go through products of packed matrices, whose blocks
// the library makes anew in each call. How many it holds at once depends on how
// the threads meet, so a later run may still need one more: but only until
// there is one of each size for each thread.
TEST(OneDnn, AllocatesNothingAfterItsFirstRuns) {
  const Shape shape = {4, 33, 20, 65, 3, 1, 1};
  const Dims tensors[] = {shape.source(), shape.weights(), shape.result()};
  const std::pair<LibraryOp, std::array<int, 3>> calls[] = {
      {LibraryOp::convolution, {0, 1, 2}},
      {LibraryOp::convolution_backward_data, {2, 1, 0}},
      {LibraryOp::convolution_backward_weights, {0, 2, 1}}};
  for (const auto &[op, order] : calls) {
    Call call(op);
    windowsOf(call.command).strides = {1, 1};
    windowsOf(call.command).pads_begin =
        windowsOf(call.command).pads_end = {1, 1};
    for (int i = 0; i < 3; ++i)
      call.add(tensors[order[i]], /*isOutput=*/i == 2);
    call.times = 101;
    Status status = call.run();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_LT(call.allocated, 20) << EnumNameLibraryOp(op);
  }
}

TEST(OneDnn, SaysWhatItCannotDo) {
  Call call(LibraryOp::reorder);
  call.add({4, 4}, false);
  LibraryTensorT &odd = call.add({4, 4}, true);
  odd.strides = {4, 1};
  odd.padded_dims = {4, 4};
  odd.inner_blocks = {2, 2};
  odd.inner_axes = {1, 1};
  EXPECT_EQ(call.run().message(),
            "oneDNN has no layout with these blocks and strides");
}
