// Nests compute what the ops they come from compute.

#include "tests/codegen/plan/plan_check.h"

using gradus::testing::graphProgram;
using gradus::testing::PlanCheck;

namespace {

struct Case {
  const char *name, *signature, *body;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

class LowerToNests : public ::testing::TestWithParam<Case> {};

TEST_P(LowerToNests, KeepsWhatAnOpComputes) {
  PlanCheck check(graphProgram(GetParam().signature, GetParam().body),
                  "lower-to-nests");
  check.expectSame();
}

const Case ops[] = {
    {"elementwise",
     "%a: tensor<3x1x4xf32>, %b: tensor<3x1x4xf32>) -> (y: tensor<3x1x4xf32>",
     "%0 = arith.mulf %a, %b : tensor<3x1x4xf32>\n%1 = math.tanh %0 : "
     "tensor<3x1x4xf32>\n"
     "%2 = gradus.gelu %1 : tensor<3x1x4xf32>\n%c = arith.constant dense<2.5> "
     ": tensor<3x1x4xf32>\n"
     "%3 = arith.addf %2, %c : tensor<3x1x4xf32>\n%4 = arith.cmpf ogt, %3, %a "
     ": tensor<3x1x4xf32>\n"
     "%5 = arith.select %4, %3, %b : tensor<3x1x4xi1>, tensor<3x1x4xf32>\n"
     "gradus.return %5 : tensor<3x1x4xf32>"},
    {"rank_0", "%a: tensor<f32>) -> (y: tensor<f32>",
     "%0 = gradus.sigmoid %a : tensor<f32>\ngradus.return %0 : tensor<f32>"},
    {"constants", "%a: tensor<2xf32>) -> (x: tensor<3xf32>, y: tensor<2xf32>",
     "%0 = arith.constant dense<4.0> : tensor<3xf32>\n%1 = arith.constant "
     "dense<[1.0, 2.0]> : tensor<2xf32>\n"
     "%2 = arith.mulf %1, %a : tensor<2xf32>\ngradus.return %0, %2 : "
     "tensor<3xf32>, tensor<2xf32>"},
    {"random_bits", "%step: tensor<i64>) -> (y: tensor<3x1x5xi64>",
     "%0 = gradus.random_bits %step stream 3 seed 4294967299 : "
     "tensor<3x1x5xi64>\ngradus.return %0 : tensor<3x1x5xi64>"},
    {"transpose", "%a: tensor<2x3x4xf32>) -> (y: tensor<4x2x3xf32>",
     "%0 = gradus.transpose %a perm [2, 0, 1] : tensor<2x3x4xf32> -> "
     "tensor<4x2x3xf32>\n"
     "gradus.return %0 : tensor<4x2x3xf32>"},
    {"broadcast", "%a: tensor<3x1xf32>) -> (y: tensor<2x3x4xf32>",
     "%0 = gradus.broadcast %a dims [1, 2] : tensor<3x1xf32> -> "
     "tensor<2x3x4xf32>\n"
     "gradus.return %0 : tensor<2x3x4xf32>"},
    {"reshape", "%a: tensor<3x4xf32>) -> (y: tensor<2x6xf32>",
     "%0 = gradus.reshape %a : tensor<3x4xf32> -> tensor<2x6xf32>\n%1 = "
     "math.exp %0 : tensor<2x6xf32>\n"
     "gradus.return %1 : tensor<2x6xf32>"},
    {"iota", ") -> (x: tensor<2x3xi64>, y: tensor<4xi32>",
     "%0 = gradus.iota axis 1 : tensor<2x3xi64>\n%1 = gradus.iota axis 0 : "
     "tensor<4xi32>\n"
     "gradus.return %0, %1 : tensor<2x3xi64>, tensor<4xi32>"},
    {"one_hot", "%l: tensor<5xi64>) -> (y: tensor<5x4xf32>",
     "%0 = gradus.iota axis 1 : tensor<5x4xi64>\n%1 = gradus.broadcast %l dims "
     "[0] : tensor<5xi64> -> tensor<5x4xi64>\n"
     "%2 = arith.cmpi eq, %0, %1 : tensor<5x4xi64>\n%3 = arith.uitofp %2 : "
     "tensor<5x4xi1> to tensor<5x4xf32>\n"
     "gradus.return %3 : tensor<5x4xf32>"},
    {"reduce_sum", "%a: tensor<2x3x4xf32>) -> (y: tensor<3xf32>",
     "%0 = gradus.reduce sum %a axes [0, 2] : tensor<2x3x4xf32> -> "
     "tensor<3xf32>\ngradus.return %0 : tensor<3xf32>"},
    {"reduce_max", "%a: tensor<2x3x4xf32>) -> (y: tensor<2x4xf32>",
     "%0 = gradus.reduce max %a axes [1] : tensor<2x3x4xf32> -> "
     "tensor<2x4xf32>\ngradus.return %0 : tensor<2x4xf32>"},
    {"reduce_min_of_integers", "%a: tensor<2x3xi32>) -> (y: tensor<3xi32>",
     "%0 = gradus.reduce min %a axes [0] : tensor<2x3xi32> -> "
     "tensor<3xi32>\ngradus.return %0 : tensor<3xi32>"},
    {"reduce_mean_to_a_scalar", "%a: tensor<2x3xf32>) -> (y: tensor<f32>",
     "%0 = gradus.reduce mean %a axes [0, 1] : tensor<2x3xf32> -> "
     "tensor<f32>\ngradus.return %0 : tensor<f32>"},
    {"reduce_over_a_unit_axis", "%a: tensor<2x1xf32>) -> (y: tensor<2xf32>",
     "%0 = gradus.reduce sum %a axes [1] : tensor<2x1xf32> -> "
     "tensor<2xf32>\ngradus.return %0 : tensor<2xf32>"},
    {"matmul",
     "%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> (y: tensor<3x5xf32>",
     "%0 = gradus.matmul %a, %b : tensor<3x4xf32>, tensor<4x5xf32> -> "
     "tensor<3x5xf32>\ngradus.return %0 : tensor<3x5xf32>"},
    {"matmul_transposed_a",
     "%a: tensor<4x3xf32>, %b: tensor<4x5xf32>) -> (y: tensor<3x5xf32>",
     "%0 = gradus.matmul %a transposed, %b : tensor<4x3xf32>, tensor<4x5xf32> "
     "-> tensor<3x5xf32>\ngradus.return %0 : tensor<3x5xf32>"},
    {"matmul_transposed_b",
     "%a: tensor<3x4xf32>, %b: tensor<5x4xf32>) -> (y: tensor<3x5xf32>",
     "%0 = gradus.matmul %a, %b transposed : tensor<3x4xf32>, tensor<5x4xf32> "
     "-> tensor<3x5xf32>\ngradus.return %0 : tensor<3x5xf32>"},
    {"matmul_both_transposed_batched",
     "%a: tensor<2x4x3xf32>, %b: tensor<2x5x4xf32>) -> (y: tensor<2x3x5xf32>",
     "%0 = gradus.matmul %a transposed, %b transposed : tensor<2x4x3xf32>, "
     "tensor<2x5x4xf32> -> tensor<2x3x5xf32>\ngradus.return %0 : "
     "tensor<2x3x5xf32>"},
    {"matmul_of_one_column",
     "%a: tensor<3x1xf32>, %b: tensor<1x5xf32>) -> (y: tensor<3x5xf32>",
     "%0 = gradus.matmul %a, %b : tensor<3x1xf32>, tensor<1x5xf32> -> "
     "tensor<3x5xf32>\ngradus.return %0 : tensor<3x5xf32>"},
};

INSTANTIATE_TEST_SUITE_P(Ops, LowerToNests, ::testing::ValuesIn(ops),
                         [](const auto &info) { return info.param.name; });

} // namespace
