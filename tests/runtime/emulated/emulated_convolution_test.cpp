// Convolutions as library commands, compared with their definition; gradients
// with the slopes of it.

#include "tests/runtime/cuda/definitions.h"
#include "tests/runtime/cuda/run_op.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
namespace fb = gradus::artifact;

namespace {

struct Shapes {
  Dims source, weights;
  Dims strides, dilations, before, after; // empty: 1, 1, 0, 0
};

Dims resultOf(const Shapes &shapes) {
  size_t axes = shapes.source.size() - 2;
  bool hasGroups = shapes.weights.size() > shapes.source.size();
  Dims dims = {shapes.source[0],
               shapes.weights[0] * (hasGroups ? shapes.weights[1] : 1)};
  for (size_t i = 0; i < axes; ++i) {
    int64_t window = shapes.weights[shapes.weights.size() - axes + i];
    int64_t size = shapes.source[2 + i] + entry(shapes.before, i, 0) +
                   entry(shapes.after, i, 0);
    dims.push_back((size - (window - 1) * entry(shapes.dilations, i, 1) - 1) /
                       entry(shapes.strides, i, 1) +
                   1);
  }
  return dims;
}

fb::LibraryCommandT commandOf(const Shapes &shapes, fb::LibraryOp op) {
  fb::LibraryCommandT made;
  made.op = opOf(op);
  fb::WindowsT &windows = windowsOf(made);
  windows.strides = shapes.strides;
  windows.dilations = shapes.dilations;
  windows.pads_begin = shapes.before;
  windows.pads_end = shapes.after;
  return made;
}

Array convolve(const Shapes &shapes, const Array &x, const Array &w) {
  return test::convolve(commandOf(shapes, fb::LibraryOp::convolution), x, w,
                        resultOf(shapes));
}

const Shapes kShapes[] = {
    {{2, 3, 9}, {4, 3, 3}, {}, {}, {1}, {1}},
    {{1, 2, 5, 6}, {3, 2, 1, 1}, {}, {}, {}, {}},
    {{2, 3, 6, 7}, {9, 3, 3, 2}, {2, 1}, {1, 2}, {1, 0}, {2, 1}},
    {{2, 4, 5, 5}, {2, 3, 2, 3, 3}, {2, 2}, {}, {1, 1}, {1, 1}}, // 2 groups
    {{1, 5, 6, 6}, {5, 1, 1, 3, 3}, {}, {}, {1, 1}, {1, 1}},     // depthwise
    {{1, 2, 4, 4, 5},
     {3, 2, 2, 3, 1},
     {1, 2, 3},
     {2, 1, 1},
     {2, 0, 3},
     {1, 1, 0}},
    {{1, 1, 2, 2}, {1, 1, 3, 3}, {3, 3}, {}, {3, 3}, {3, 3}}, // some see none
};

struct EmulatedConvolution : ::testing::TestWithParam<bool> {
  Operand lay(const Array &array, bool blocks = true) const {
    return operandOf(array, [&](fb::LibraryTensorT &tensor) {
      if (GetParam() && blocks)
        layChannelsLast(tensor);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, EmulatedConvolution, ::testing::Bool());

} // namespace

TEST_P(EmulatedConvolution, IsItsDefinition) {
  for (const Shapes &shapes : kShapes) {
    Array x = someArray(shapes.source, 1), w = someArray(shapes.weights, 2),
          y = convolve(shapes, x, w);
    Operand source = lay(x), weights = lay(w, false), result = lay(y);
    std::fill(result.bytes.begin(), result.bytes.end(), 0xFF);
    Status status = runOp(commandOf(shapes, fb::LibraryOp::convolution),
                          {&source, &weights}, {&result});
    ASSERT_TRUE(status.ok()) << status;
    expectNear(arrayOf(result), y, 1e-5);
  }
}

TEST_P(EmulatedConvolution, AddsABiasAndActivates) {
  const Shapes &shapes = kShapes[3];
  Array x = someArray(shapes.source, 1), w = someArray(shapes.weights, 2),
        y = convolve(shapes, x, w), bias = someArray({y.dims[1]}, 3);
  forEachIndex(y.dims, [&](const Dims &i) {
    y.at(i) = std::max(y.at(i) + bias.at({i[1]}), 0.0);
  });
  Operand source = lay(x), weights = lay(w, false), added = operandOf(bias),
          result = lay(y);
  std::fill(result.bytes.begin(), result.bytes.end(), 0xFF);
  auto asked = commandOf(shapes, fb::LibraryOp::convolution);
  activationOf(asked) = fb::Activation::relu;
  ASSERT_TRUE(runOp(asked, {&source, &weights, &added}, {&result}).ok());
  expectNear(arrayOf(result), y, 1e-5);
}

/// The slopes of <gradient, convolution>, which is linear in both.
TEST_P(EmulatedConvolution, HasTheSlopesAsGradients) {
  for (const Shapes &shapes : kShapes) {
    Array x = someArray(shapes.source, 1), w = someArray(shapes.weights, 2),
          dy = someArray(resultOf(shapes), 3), bias({dy.dims[1]});
    auto loss = [&] { return dot(dy, convolve(shapes, x, w)); };
    Array dx = slopesOf(loss, x, 1), dw = slopesOf(loss, w, 1);
    forEachIndex(dy.dims, [&](const Dims &i) { bias.at({i[1]}) += dy.at(i); });
    Operand source = lay(x), weights = lay(w, false), gradient = lay(dy),
            toSource = lay(Array(x.dims)),
            toWeights = lay(Array(w.dims), false),
            toBias = operandOf(Array(bias.dims));
    Status status =
        runOp(commandOf(shapes, fb::LibraryOp::convolution_backward_data),
              {&gradient, &weights}, {&toSource});
    ASSERT_TRUE(status.ok()) << status;
    expectNear(arrayOf(toSource), dx, 1e-5);
    status =
        runOp(commandOf(shapes, fb::LibraryOp::convolution_backward_weights),
              {&source, &gradient}, {&toWeights, &toBias});
    ASSERT_TRUE(status.ok()) << status;
    expectNear(arrayOf(toWeights), dw, 1e-4);
    expectNear(arrayOf(toBias), bias, 1e-4);
  }
}

TEST(EmulatedConvolutionTypes, AreWidenedAndRoundedOnce) {
  Shapes shapes = kShapes[0];
  Array x = someArray(shapes.source, 1), w = someArray(shapes.weights, 2),
        y = convolve(shapes, x, w);
  auto narrow = [](fb::LibraryTensorT &tensor) {
    tensor.dtype = fb::DType::bf16;
  };
  Operand source = operandOf(x, narrow), weights = operandOf(w, narrow),
          result = operandOf(Array(y.dims), narrow);
  ASSERT_TRUE(runOp(commandOf(shapes, fb::LibraryOp::convolution),
                    {&source, &weights}, {&result})
                  .ok());
  expectNear(arrayOf(result), y, 4.0 / 256);
}
