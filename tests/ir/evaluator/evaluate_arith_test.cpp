// Known values of arith and math ops: where widths, signs and NaN matter.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

/// An op on integers of rank 0 that are all of `type`.
static int64_t onIntegers(const std::string &op, const std::string &type,
                          int64_t a, int64_t b) {
  std::string tensor = "tensor<" + type + ">";
  return evaluate("%a: " + tensor + ", %b: " + tensor,
                  "%y = arith." + op + " %a, %b : " + tensor,
                  {integers({}, {a}), integers({}, {b})})[0]
      .integers[0];
}

static double onFloats(const std::string &op, double a, double b) {
  return evaluate("%a: tensor<f32>, %b: tensor<f32>",
                  "%y = " + op + " %a, %b : tensor<f32>",
                  {floats({}, {a}), floats({}, {b})})[0]
      .floats[0];
}

static HostTensor cast(const std::string &op, const std::string &from,
                       const std::string &to, HostTensor value) {
  return evaluate("%a: tensor<" + from + ">",
                  "%y = arith." + op + " %a : tensor<" + from + "> to tensor<" +
                      to + ">",
                  {value})[0];
}

TEST(EvaluateArith, WrapsAroundAtTheWidth) {
  EXPECT_EQ(onIntegers("addi", "i8", 127, 1), -128);
  EXPECT_EQ(onIntegers("muli", "i32", 1 << 20, 1 << 20), 0);
  EXPECT_EQ(onIntegers("subi", "i64", INT64_MIN, 1), INT64_MAX);
}

TEST(EvaluateArith, TellsSignedFromUnsigned) {
  EXPECT_EQ(onIntegers("divsi", "i32", -7, 2), -3);
  EXPECT_EQ(onIntegers("divui", "i8", -1, 2), 127);
  EXPECT_EQ(onIntegers("shrsi", "i8", -4, 1), -2);
  EXPECT_EQ(onIntegers("shrui", "i8", -4, 1), 126);
  EXPECT_EQ(onIntegers("maxui", "i32", -1, 5), -1);
  EXPECT_EQ(onIntegers("cmpi slt,", "i32", -1, 5), 1);
  EXPECT_EQ(onIntegers("cmpi ult,", "i32", -1, 5), 0);
  EXPECT_EQ(onIntegers("andi", "i1", 1, 1), 1);
}

TEST(EvaluateArith, KeepsOrDropsNaNAsTheOpSays) {
  EXPECT_TRUE(std::isnan(onFloats("arith.maximumf", NAN, 1)));
  EXPECT_EQ(onFloats("arith.maxnumf", NAN, 1), 1);
  EXPECT_EQ(onFloats("arith.minimumf", 2, 1), 1);
}

TEST(EvaluateArith, Compares) {
  auto compared = [](const std::string &predicate) {
    return evaluate("%a: tensor<4xf32>, %b: tensor<4xf32>",
                    "%y = arith.cmpf " + predicate + ", %a, %b : tensor<4xf32>",
                    {floats({4}, {1, 2, 2, NAN}), floats({4}, {2, 1, 2, 1})})[0]
        .integers;
  };
  using Each = std::vector<int64_t>; // less, more, equal, no number
  EXPECT_EQ(compared("olt"), (Each{1, 0, 0, 0}));
  EXPECT_EQ(compared("ule"), (Each{1, 0, 1, 1}));
  EXPECT_EQ(compared("ogt"), (Each{0, 1, 0, 0}));
  EXPECT_EQ(compared("one"), (Each{1, 1, 0, 0}));
  EXPECT_EQ(compared("une"), (Each{1, 1, 0, 1}));
  EXPECT_EQ(compared("uno"), (Each{0, 0, 0, 1}));
}

TEST(EvaluateArith, SelectsElementByElement) {
  auto y = evaluate(
      "%c: tensor<2xi1>, %a: tensor<2xi32>, %b: tensor<2xi32>",
      "%y = arith.select %c, %a, %b : tensor<2xi1>, tensor<2xi32>",
      {integers({2}, {1, 0}), integers({2}, {1, 2}), integers({2}, {3, 4})});
  EXPECT_EQ(y[0].integers, (std::vector<int64_t>{1, 4}));
}

TEST(EvaluateArith, Converts) {
  EXPECT_EQ(cast("sitofp", "i32", "f32", integers({}, {-3})).floats[0], -3);
  EXPECT_EQ(cast("uitofp", "i1", "f32", integers({}, {1})).floats[0], 1);
  EXPECT_EQ(cast("uitofp", "i8", "f32", integers({}, {-1})).floats[0], 255);
  EXPECT_EQ(cast("extui", "i1", "i32", integers({}, {1})).integers[0], 1);
  EXPECT_EQ(cast("extsi", "i1", "i32", integers({}, {1})).integers[0], -1);
  EXPECT_EQ(cast("trunci", "i32", "i8", integers({}, {257})).integers[0], 1);
  EXPECT_EQ(cast("fptosi", "f32", "i32", floats({}, {-2.7})).integers[0], -2);
}

TEST(EvaluateArith, GivesConstants) {
  auto y =
      evaluate("", "%y = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>", {});
  EXPECT_EQ(y[0].floats, (std::vector<double>{1, 2}));
}

TEST(EvaluateArith, ComputesMathInDoublePrecision) {
  EXPECT_EQ(onFloats("math.powf", 2, 10), 1024);
  EXPECT_EQ(onFloats("math.copysign", 2, -1), -2);
  auto y = evaluate("%x: tensor<1xf32>", "%y = math.exp %x : tensor<1xf32>",
                    {floats({1}, {1})});
  EXPECT_EQ(y[0].floats[0], std::exp(1.0));
}

TEST(EvaluateArith, RunsEachElementwiseOp) {
  for (mlir::RegisteredOperationName op : context().getRegisteredOperations())
    if (op.hasInterface<Elementwise>() && op.getStringRef() != "arith.bitcast")
      EXPECT_TRUE(op.hasInterface<Evaluable>()) << op.getStringRef().str();
}
