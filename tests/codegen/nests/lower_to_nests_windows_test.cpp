// Convolutions and pooling as nests, for every kind of window: strided,
// padded unevenly, dilated, grouped, overlapping, with a rest.

#include "tests/codegen/plan/plan_check.h"

using gradus::testing::graphProgram;
using gradus::testing::PlanCheck;

namespace {

struct WindowCase {
  const char *name;
  std::string strides, begin, end, dilations;
  int64_t output, groups = 1;
};

void PrintTo(const WindowCase &c, std::ostream *out) { *out << c.name; }

std::string tensor(std::initializer_list<int64_t> shape,
                   const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

std::string geometry(const WindowCase &c) {
  return " strides [" + c.strides + "] pads [" + c.begin + "] to [" + c.end +
         "] dilations [" + c.dilations + "]";
}

//===-- convolutions ------------------------------------------------------===//

class Convolutions : public ::testing::TestWithParam<WindowCase> {};

/// A convolution of [2, 4, 7, 7] by six kernels of 3 x 3, and its gradients.
TEST_P(Convolutions, KeepWhatTheyCompute) {
  const WindowCase &c = GetParam();
  std::string x = tensor({2, 4, 7, 7}), w = tensor({6, 4 / c.groups, 3, 3}),
              y = tensor({2, 6, c.output, c.output});
  std::string window =
      geometry(c) +
      (c.groups > 1 ? " groups " + std::to_string(c.groups) : "") + " : ";
  std::string body =
      "%y = gradus.convolution %x, %w" + window + x + ", " + w + " -> " + y +
      "\n%dx = gradus.convolution_backward_data %dy, %w" + window + y + ", " +
      w + " -> " + x + "\n%dw = gradus.convolution_backward_weights %x, %dy" +
      window + x + ", " + y + " -> " + w +
      "\ngradus.return %y, %dx, %dw : " + y + ", " + x + ", " + w;
  PlanCheck check(graphProgram("%x: " + x + ", %w: " + w + ", %dy: " + y +
                                   ") -> (y: " + y + ", dx: " + x +
                                   ", dw: " + w,
                               body),
                  "lower-to-nests");
  check.expectSame();
}

INSTANTIATE_TEST_SUITE_P(
    Windows, Convolutions,
    ::testing::Values(
        WindowCase{"plain", "1, 1", "0, 0", "0, 0", "1, 1", 5},
        WindowCase{"padded", "1, 1", "1, 1", "1, 1", "1, 1", 7},
        WindowCase{"padded_unevenly", "1, 1", "2, 0", "0, 2", "1, 1", 7},
        WindowCase{"padded_beyond_the_kernel", "1, 1", "3, 3", "3, 3", "1, 1",
                   11},
        WindowCase{"strided", "2, 2", "1, 1", "1, 1", "1, 1", 4},
        WindowCase{"strided_with_a_rest", "3, 3", "0, 0", "0, 0", "1, 1", 2},
        WindowCase{"dilated", "1, 1", "1, 1", "1, 1", "2, 2", 5},
        WindowCase{"strided_and_dilated", "2, 2", "2, 2", "2, 2", "2, 2", 4},
        WindowCase{"grouped", "1, 1", "1, 1", "1, 1", "1, 1", 7, 2}),
    [](const auto &info) { return info.param.name; });

TEST(Convolutions, OfOneAndThreeDimensionsKeepWhatTheyCompute) {
  std::string signature = "%x: tensor<2x3x9xf32>, %w: tensor<4x3x3xf32>, %v: "
                          "tensor<1x1x3x4x5xf32>, "
                          "%k: tensor<2x1x2x2x2xf32>) -> (y: "
                          "tensor<2x4x5xf32>, z: tensor<1x2x2x3x4xf32>";
  std::string body =
      "%y = gradus.convolution %x, %w strides [2] pads [1] to [1] dilations "
      "[1] : tensor<2x3x9xf32>, "
      "tensor<4x3x3xf32> -> tensor<2x4x5xf32>\n"
      "%z = gradus.convolution %v, %k strides [1, 1, 1] pads [0, 0, 0] to [0, "
      "0, 0] dilations [1, 1, 1] : "
      "tensor<1x1x3x4x5xf32>, tensor<2x1x2x2x2xf32> -> tensor<1x2x2x3x4xf32>\n"
      "gradus.return %y, %z : tensor<2x4x5xf32>, tensor<1x2x2x3x4xf32>";
  PlanCheck(graphProgram(signature, body), "lower-to-nests").expectSame();
}

//===-- pooling -----------------------------------------------------------===//

class Pooling : public ::testing::TestWithParam<std::tuple<WindowCase, bool>> {
};

/// Pooling of [2, 3, 7, 7] by a window of 3 x 3, and its gradients.
TEST_P(Pooling, KeepsWhatItComputes) {
  const WindowCase &c = std::get<0>(GetParam());
  bool countPadding = std::get<1>(GetParam());
  std::string x = tensor({2, 3, 7, 7}), y = tensor({2, 3, c.output, c.output}),
              i = tensor({2, 3, c.output, c.output}, "i32");
  std::string window = " window [3, 3]" + geometry(c);
  std::string count = countPadding ? " count_include_pad" : "";
  std::string body =
      "%m, %i = gradus.max_pool %x" + window + " : " + x + " -> " + y + ", " +
      i + "\n%dm = gradus.max_pool_backward %dy, %i" + window + " : " + y +
      ", " + i + " -> " + x + "\n%a = gradus.average_pool %x" + window + count +
      " : " + x + " -> " + y + "\n%da = gradus.average_pool_backward %dy" +
      window + count + " : " + y + " -> " + x +
      "\ngradus.return %m, %i, %dm, %a, %da : " + y + ", " + i + ", " + x +
      ", " + y + ", " + x;
  PlanCheck check(graphProgram("%x: " + x + ", %dy: " + y + ") -> (m: " + y +
                                   ", i: " + i + ", dm: " + x + ", a: " + y +
                                   ", da: " + x,
                               body),
                  "lower-to-nests");
  check.expectSame();
}

INSTANTIATE_TEST_SUITE_P(
    Windows, Pooling,
    ::testing::Combine(
        ::testing::Values(
            WindowCase{"side_by_side", "3, 3", "0, 0", "0, 0", "1, 1", 2},
            WindowCase{"side_by_side_padded", "3, 3", "1, 1", "1, 1", "1, 1",
                       3},
            WindowCase{"overlapping", "2, 2", "0, 0", "0, 0", "1, 1", 3},
            WindowCase{"overlapping_padded", "2, 2", "1, 1", "1, 1", "1, 1", 4},
            WindowCase{"padded_unevenly", "1, 1", "1, 0", "0, 1", "1, 1", 6},
            WindowCase{"dilated", "1, 1", "0, 0", "0, 0", "2, 2", 3}),
        ::testing::Bool()),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) +
             (std::get<1>(info.param) ? "_counting_padding" : "");
    });

} // namespace
