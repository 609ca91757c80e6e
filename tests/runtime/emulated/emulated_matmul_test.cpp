// Products as library commands: batches, strides, broadcasts, epilogues, types.

#include "tests/runtime/cuda/definitions.h"
#include "tests/runtime/cuda/run_op.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
namespace fb = gradus::artifact;

namespace {

fb::LibraryCommandT matmul() {
  fb::LibraryCommandT command;
  command.op = opOf(fb::LibraryOp::matmul);
  return command;
}

using Layout = void (*)(fb::LibraryTensorT &);
void asIs(fb::LibraryTensorT &) {}
/// Rows of `row` elements, or columns of `column`; matrices behind each other.
void setStrides(fb::LibraryTensorT &tensor, int64_t row, int64_t column,
                int64_t matrix) {
  tensor.strides.assign(tensor.dims.size(), 1);
  tensor.strides.end()[-2] = row;
  tensor.strides.end()[-1] = column;
  for (size_t i = tensor.dims.size() - 2; i-- > 0; matrix *= tensor.dims[i])
    tensor.strides[i] = matrix;
}
void transposed(fb::LibraryTensorT &tensor) {
  int64_t rows = tensor.dims.end()[-2];
  setStrides(tensor, 1, rows, rows * tensor.dims.back());
}
void padded(fb::LibraryTensorT &tensor) {
  int64_t row = tensor.dims.back() + 3;
  setStrides(tensor, row, 1, row * tensor.dims.end()[-2]);
}

struct Shapes {
  Dims source, weights, bias; // no bias: none
};

void expectProduct(const Shapes &shapes, Layout layout,
                   fb::DType dtype = fb::DType::f32, double tolerance = 1e-5) {
  auto change = [&](fb::LibraryTensorT &tensor) {
    tensor.dtype = dtype;
    layout(tensor);
  };
  bool hasBias = !shapes.bias.empty();
  Array a = someArray(shapes.source, 1), b = someArray(shapes.weights, 2),
        bias = someArray(hasBias ? shapes.bias : Dims{1, 1}, 3);
  Array expected = product(a, b, hasBias ? &bias : nullptr);
  Operand source = operandOf(a, change), weights = operandOf(b, change),
          added = operandOf(bias, change),
          result = operandOf(Array(expected.dims), change);
  std::vector<Operand *> inputs = {&source, &weights};
  if (hasBias)
    inputs.push_back(&added);
  Status status = runOp(matmul(), inputs, {&result});
  ASSERT_TRUE(status.ok()) << status;
  expectNear(arrayOf(result), expected, tolerance);
}

} // namespace

TEST(EmulatedMatmul, MultipliesInAllLayouts) {
  for (Layout layout : {asIs, transposed, padded}) {
    expectProduct({{5, 7}, {7, 3}, {}}, layout);
    expectProduct({{5, 7}, {7, 3}, {1, 3}}, layout);
    expectProduct({{2, 3, 4, 5}, {2, 3, 5, 6}, {}}, layout);
    expectProduct({{2, 3, 4, 5}, {1, 1, 5, 6}, {1, 1, 1, 6}}, layout);
    expectProduct({{2, 3, 4, 5}, {2, 1, 5, 6}, {2, 3, 4, 6}}, layout);
    expectProduct({{2, 3, 4, 5}, {1, 3, 5, 6}, {1, 3, 4, 1}}, layout);
  }
}

/// Inputs are exact, and the result is rounded once.
TEST(EmulatedMatmul, TakesNarrowFloats) {
  Shapes shapes = {{5, 70}, {70, 9}, {1, 9}};
  expectProduct(shapes, asIs, fb::DType::f16, 8.0 / 1024);
  expectProduct(shapes, asIs, fb::DType::bf16, 8.0 / 128);
}

TEST(EmulatedMatmul, AppliesActivations) {
  Array a({1, 1}), b({1, 2});
  a.numbers = {2};
  b.numbers = {-1, 3};
  Operand source = operandOf(a), weights = operandOf(b), result = operandOf(b);
  fb::LibraryCommandT command = matmul();
  activationOf(command) = fb::Activation::relu;
  ASSERT_TRUE(runOp(command, {&source, &weights}, {&result}).ok());
  EXPECT_EQ(arrayOf(result).numbers, (std::vector<double>{0, 6}));
}

TEST(EmulatedMatmul, SumsAnOperandAlongWhatIsMultiplied) {
  Array a = someArray({5, 7}, 1), b = someArray({7, 3}, 2);
  for (Layout layout : {asIs, transposed, padded})
    for (const Array &expected : {sumsOf(a, true), sumsOf(b, false)}) {
      Operand source = operandOf(a, layout), weights = operandOf(b, layout),
              result = operandOf(Array({5, 3})),
              sums = operandOf(Array(expected.dims));
      Status status = runOp(matmul(), {&source, &weights}, {&result, &sums});
      ASSERT_TRUE(status.ok()) << status;
      expectNear(arrayOf(result), product(a, b, nullptr), 1e-5);
      expectNear(arrayOf(sums), expected, 1e-5);
    }
}

/// d gelu(x) / dx, by differences, times what is given.
TEST(EmulatedMatmul, KeepsWhatGeluIsOfForItsGradient) {
  Array a = someArray({4, 6}, 1), b = someArray({6, 8}, 2),
        one = someArray({1, 8}, 3), x = product(a, b, &one);
  Operand source = operandOf(a), weights = operandOf(b), bias = operandOf(one),
          kept = operandOf(Array({4, 8})), result = operandOf(Array({4, 8}));
  fb::LibraryCommandT command = matmul();
  activationOf(command) = fb::Activation::gelu_tanh;
  Status status = runOp(command, {&source, &weights, &bias}, {&result, &kept});
  ASSERT_TRUE(status.ok()) << status;
  expectNear(arrayOf(kept), x, 1e-5);

  Array expected = product(a, b, nullptr);
  for (size_t i = 0; i < x.numbers.size(); ++i)
    expected.numbers[i] *= geluSlope(x.numbers[i]);
  expectNear(arrayOf(result),
             mapped(x,
                    [](double at) {
                      return activated(fb::Activation::gelu_tanh, at);
                    }),
             1e-5);
  activationOf(command) = fb::Activation::gelu_tanh_gradient;
  status = runOp(command, {&source, &weights, &kept}, {&result});
  ASSERT_TRUE(status.ok()) << status;
  expectNear(arrayOf(result), expected, 1e-5);
}
