// Reductions of ONNX.

#include "tests/frontends/onnx/written.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static const HostTensor kInput = tensor({2, 3}, {1, 2, 6, 4, 5, 3});

static SmallModel reduced(const char *type, int64_t axis) {
  return SmallModel()
      .input("x", {2, 3})
      .integers("axes", {1}, {axis})
      .node(type, {"x", "axes"}, {"y"})
      .output("y");
}

TEST(Reduction, CombinesAlongAxes) {
  EXPECT_EQ(evaluate(reduced("ReduceSum", 1), {kInput}).floats,
            (Values{9, 12}));
  EXPECT_EQ(evaluate(reduced("ReduceMean", -2), {kInput}).floats,
            (Values{2.5, 3.5, 4.5}));
  EXPECT_EQ(evaluate(reduced("ReduceMax", 1), {kInput}).floats, (Values{6, 5}));
  EXPECT_EQ(evaluate(reduced("ReduceMin", 1), {kInput}).floats, (Values{1, 3}));
}

TEST(Reduction, AveragesIntegersTowardsZero) {
  auto mean = [](int type, std::vector<int64_t> values) {
    Shape shape = {1, int64_t(values.size())};
    SmallModel model;
    model.input("x", shape, type)
        .integers("axes", {1}, {1})
        .node("ReduceMean", {"x", "axes"}, {"y"})
        .output("y");
    HostTensor x{{shape[0], shape[1]}, false, {}, values};
    return evaluate(model, {x}).integers;
  };
  using Integers = std::vector<int64_t>;
  EXPECT_EQ(mean(::onnx::TensorProto::INT32, {-3, -4, 2}), (Integers{-1}));
  EXPECT_EQ(mean(::onnx::TensorProto::INT64, {3, 4, 1}), (Integers{2}));
  EXPECT_EQ(mean(::onnx::TensorProto::INT8, {100, 127}), (Integers{113}));
  EXPECT_EQ(mean(::onnx::TensorProto::UINT32, {int64_t(-2), 0}),
            (Integers{INT32_MAX}));
}

TEST(Reduction, KeepsAxesUnlessTold) {
  EXPECT_EQ(evaluate(reduced("ReduceSum", 1), {kInput}).shape,
            (llvm::SmallVector<int64_t>{2, 1}));
  EXPECT_EQ(
      evaluate(reduced("ReduceSum", 1).with("keepdims", 0), {kInput}).shape,
      (llvm::SmallVector<int64_t>{2}));
}

TEST(Reduction, TakesAxesFromTheAttributeOfOlderModels) {
  SmallModel model;
  model.setOpset(13)
      .input("x", {2, 3})
      .node("ReduceMean", {"x"}, {"y"})
      .with("axes", Shape{0})
      .output("y");
  EXPECT_EQ(evaluate(model, {kInput}).floats, (Values{2.5, 3.5, 4.5}));
}

TEST(Reduction, TakesAllAxesWhereNoneIsGiven) {
  SmallModel model;
  model.input("x", {2, 3}).node("ReduceSum", {"x"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {kInput}).floats, (Values{21}));
}

/// The expected numbers are those of onnx.reference.
TEST(Reduction, OfNothingIsAsONNXSays) {
  using Type = ::onnx::TensorProto;
  auto ofNone = [](const char *type, int element) {
    SmallModel model;
    model.input("x", {2, 3}).integers("axes", {1}, {1});
    model.integers("none", {1}, {0});
    model.node("Slice", {"x", "none", "none", "axes"}, {"empty"});
    model.node("Cast", {"empty"}, {"c"}).with("to", element);
    model.node(type, {"c", "axes"}, {"r"}).node("Cast", {"r"}, {"y"});
    return evaluate(model.with("to", int(Type::FLOAT)).output("y"), {kInput})
        .floats;
  };
  for (const char *type :
       {"ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare"})
    EXPECT_EQ(ofNone(type, Type::FLOAT), (Values{0, 0})) << type;
  for (const char *type : {"ReduceMax", "ReduceLogSum", "ReduceLogSumExp"})
    EXPECT_EQ(ofNone(type, Type::FLOAT), (Values{-INFINITY, -INFINITY}))
        << type;
  EXPECT_EQ(ofNone("ReduceProd", Type::FLOAT), (Values{1, 1}));
  EXPECT_EQ(ofNone("ReduceMin", Type::FLOAT), (Values{INFINITY, INFINITY}));
  EXPECT_TRUE(std::isnan(ofNone("ReduceMean", Type::FLOAT)[0]));
  EXPECT_EQ(ofNone("ReduceMax", Type::INT8), (Values{-128, -128}));
  EXPECT_EQ(ofNone("ReduceMax", Type::UINT8), (Values{0, 0}));
  EXPECT_EQ(ofNone("ReduceMin", Type::UINT8), (Values{255, 255}));
  EXPECT_EQ(ofNone("ReduceMax", Type::BOOL), (Values{0, 0}));
  EXPECT_EQ(ofNone("ReduceMin", Type::BOOL), (Values{1, 1}));
}

TEST(Reduction, AveragesWholeImages) {
  SmallModel model;
  model.input("x", {1, 2, 1, 2})
      .node("GlobalAveragePool", {"x"}, {"y"})
      .output("y");
  HostTensor y = evaluate(model, {tensor({1, 2, 1, 2}, {1, 3, 10, 20})});
  EXPECT_EQ(y.floats, (Values{2, 15}));
  EXPECT_EQ(y.shape, (llvm::SmallVector<int64_t>{1, 2, 1, 1}));
}

TEST(Reduction, MakesSoftmaxSumToOne) {
  SmallModel model;
  model.input("x", {1, 2}).node("Softmax", {"x"}, {"y"}).output("y");
  HostTensor y = evaluate(model, {tensor({1, 2}, {1000, 1000 + std::log(3)})});
  EXPECT_NEAR(y.floats[0], 0.25, 1e-12);
  EXPECT_NEAR(y.floats[1], 0.75, 1e-12);
}

TEST(Reduction, RefusesAxesThatAreNotThere) {
  EXPECT_EQ(
      import(reduced("ReduceSum", 2)).error,
      "node \"the ReduceSum\" (ReduceSum): axis 2 is out of range for rank 2");
}

TEST(ReductionExports, IntegersThatONNXDoesNotReduceAreAnError) {
  auto error = [](const std::string &kind, const std::string &element) {
    std::string from = "tensor<2x3x" + element + ">",
                to = "tensor<2x" + element + ">";
    return errorOf(Written{"%x: " + from,
                           "%y = gradus.reduce " + kind + " %x axes [1] : " +
                               from + " -> " + to + " loc(\"n\")",
                           to});
  };
  EXPECT_EQ(error("max", "i1"), "node \"n\" (gradus.reduce): is of booleans, "
                                "for which ONNX has no such node");
  for (const char *bits : {"8", "16"})
    EXPECT_EQ(error("sum", std::string("i") + bits),
              std::string("node \"n\" (gradus.reduce): reduces integers of ") +
                  bits + " bits, for which ONNX has no such node");
  EXPECT_EQ(error("max", "i16"),
            "node \"n\" (gradus.reduce): reduces integers of 16 bits, for "
            "which ONNX has no such node");
  for (const char *element : {"i32", "i64", "f32"})
    EXPECT_EQ(error("sum", element), "");
  EXPECT_EQ(error("max", "i8"), "");
}
