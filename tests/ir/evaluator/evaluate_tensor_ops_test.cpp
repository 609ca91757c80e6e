// Known values of the ops that move, combine and describe elements.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

TEST(Evaluate, TransposeMovesRowsToColumns) {
  auto y = evaluate("%x: tensor<2x3xf32>",
                    "%y = gradus.transpose %x perm [1, 0] : tensor<2x3xf32> -> "
                    "tensor<3x2xf32>",
                    {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(y[0].floats, (Doubles{1, 4, 2, 5, 3, 6}));
}

TEST(Evaluate, BroadcastRepeatsWhereTheInputHasNoDimension) {
  auto y = evaluate(
      "%x: tensor<2xi32>",
      "%y = gradus.broadcast %x dims [0] : tensor<2xi32> -> tensor<2x3xi32>",
      {integers({2}, {7, 8})});
  EXPECT_EQ(y[0].integers, (Integers{7, 7, 7, 8, 8, 8}));
}

TEST(Evaluate, BroadcastRepeatsSizeOne) {
  auto y = evaluate("%x: tensor<1x2xf32>",
                    "%y = gradus.broadcast %x dims [0, 1] : tensor<1x2xf32> -> "
                    "tensor<2x2xf32>",
                    {floats({1, 2}, {7, 8})});
  EXPECT_EQ(y[0].floats, (Doubles{7, 8, 7, 8}));
}

TEST(Evaluate, IotaCountsAlongItsAxis) {
  auto y = evaluate("", "%y = gradus.iota axis 1 : tensor<2x3xi64>", {});
  EXPECT_EQ(y[0].integers, (Integers{0, 1, 2, 0, 1, 2}));
}

static Doubles reduced(const char *kind, Doubles values) {
  return evaluate("%x: tensor<2x2xf32>",
                  std::string("%y = gradus.reduce ") + kind +
                      " %x axes [1] : tensor<2x2xf32> -> tensor<2xf32>",
                  {floats({2, 2}, values)})[0]
      .floats;
}

TEST(Evaluate, ReduceCombinesAlongAxes) {
  EXPECT_EQ(reduced("sum", {1, 2, 3, 5}), (Doubles{3, 8}));
  EXPECT_EQ(reduced("mean", {1, 2, 3, 5}), (Doubles{1.5, 4}));
  EXPECT_EQ(reduced("max", {-1, -2, 3, 5}), (Doubles{-1, 5}));
  EXPECT_EQ(reduced("min", {-1, -2, 3, 5}), (Doubles{-2, 3}));
}

TEST(Evaluate, ReduceDoesNotLoseNaN) {
  for (const char *kind : {"sum", "mean", "max", "min"}) {
    Doubles result = reduced(kind, {NAN, 1, 1, NAN});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1])) << kind;
  }
}

TEST(Evaluate, ReduceTakesIntegers) {
  auto y = evaluate(
      "%x: tensor<3xi32>",
      "%y = gradus.reduce min %x axes [0] : tensor<3xi32> -> tensor<i32>",
      {integers({3}, {4, -2, 9})});
  EXPECT_EQ(y[0].integers, (Integers{-2}));
}

TEST(Evaluate, ReduceOfNothingIsWhatChangesNoNumber) {
  auto ofNone = [](const std::string &kind, const std::string &element) {
    std::string none = "tensor<0x" + element + ">";
    HostTensor input = zeros({0}, element[0] == 'f');
    return evaluate("%x: " + none,
                    "%y = gradus.reduce " + kind + " %x axes [0] : " + none +
                        " -> tensor<" + element + ">",
                    {input})[0];
  };
  EXPECT_EQ(ofNone("sum", "f32").floats, (Doubles{0}));
  EXPECT_EQ(ofNone("max", "f32").floats, (Doubles{-INFINITY}));
  EXPECT_EQ(ofNone("min", "f32").floats, (Doubles{INFINITY}));
  EXPECT_TRUE(std::isnan(ofNone("mean", "f32").floats[0]));
  EXPECT_EQ(ofNone("max", "i8").integers, (Integers{-128}));
  EXPECT_EQ(ofNone("min", "i32").integers, (Integers{INT32_MAX}));
  EXPECT_EQ(ofNone("max", "i64").integers, (Integers{INT64_MIN}));
  EXPECT_EQ(ofNone("max", "i1").integers, (Integers{0}));
  EXPECT_EQ(ofNone("min", "i1").integers, (Integers{1}));
}

// [1 2; 3 4] times [5 6; 7 8], with either operand stored transposed.
TEST(Evaluate, MatmulMultipliesRowsByColumns) {
  const Doubles product = {19, 22, 43, 50};
  const std::string inputs = "%a: tensor<2x2xf32>, %b: tensor<2x2xf32>";
  const std::string types =
      " : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>";
  HostTensor a = floats({2, 2}, {1, 2, 3, 4}),
             aT = floats({2, 2}, {1, 3, 2, 4});
  HostTensor b = floats({2, 2}, {5, 6, 7, 8}),
             bT = floats({2, 2}, {5, 7, 6, 8});
  EXPECT_EQ(
      evaluate(inputs, "%y = gradus.matmul %a, %b" + types, {a, b})[0].floats,
      product);
  EXPECT_EQ(evaluate(inputs, "%y = gradus.matmul %a transposed, %b" + types,
                     {aT, b})[0]
                .floats,
            product);
  EXPECT_EQ(evaluate(inputs, "%y = gradus.matmul %a, %b transposed" + types,
                     {a, bT})[0]
                .floats,
            product);
}

TEST(Evaluate, MatmulTakesEachBatchByItself) {
  auto y = evaluate(
      "%a: tensor<2x1x2xf32>, %b: tensor<2x2x1xf32>",
      "%y = gradus.matmul %a, %b : tensor<2x1x2xf32>, tensor<2x2x1xf32> -> "
      "tensor<2x1x1xf32>",
      {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 2, 1}, {5, 6, 7, 8})});
  EXPECT_EQ(y[0].floats, (Doubles{17, 53}));
}

static double activation(const std::string &op, double x) {
  return evaluate("%x: tensor<1xf64>", "%y = " + op + " : tensor<1xf64>",
                  {floats({1}, {x})})[0]
      .floats[0];
}

// Values of torch.nn.functional in double precision.
TEST(Evaluate, ActivationsAreThoseOfPyTorch) {
  EXPECT_EQ(activation("gradus.relu %x", -1.5), 0);
  EXPECT_EQ(activation("gradus.relu %x", 1.5), 1.5);
  EXPECT_TRUE(std::isnan(activation("gradus.relu %x", NAN)));
  EXPECT_NEAR(activation("gradus.sigmoid %x", 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(activation("gradus.gelu %x", 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(activation("gradus.gelu %x tanh", 1), 0.8411919906082768, 1e-15);
}
