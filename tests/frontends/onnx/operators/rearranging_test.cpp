// Ops that move elements between axes, and their neighbours.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values counting(int64_t count) {
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(i);
  return values;
}

TEST(Rearranging, DepthToSpaceAndBack) {
  SmallModel model;
  model.input("x", {1, 4, 1, 2})
      .node("DepthToSpace", {"x"}, {"wide"})
      .with("blocksize", 2)
      .node("SpaceToDepth", {"wide"}, {"deep"})
      .with("blocksize", 2)
      .output("wide")
      .output("deep");
  Imported imported = import(model);
  auto outputs = evaluate(imported, {tensor({1, 4, 1, 2}, counting(8))});
  EXPECT_EQ(outputs[0].floats, (Values{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(outputs[1].floats, counting(8));
}

TEST(Rearranging, HardmaxTakesTheFirstOfEquals) {
  SmallModel model;
  model.input("x", {2, 3}).node("Hardmax", {"x"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 3}, {1, 3, 3, 2, 1, 0})}).floats,
            (Values{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(evaluate(model, {tensor({2, 3}, {1, NAN, 3, 2, 1, 0})}).floats,
            (Values{0, 1, 0, 1, 0, 0}));
}

TEST(Rearranging, EyeLikeHasTheShapeOfItsInput) {
  SmallModel model;
  model.input("x", {2, 3})
      .node("EyeLike", {"x"}, {"eye"})
      .with("k", 1)
      .node("Add", {"x", "eye"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 3}, Values(6, 1))}).floats,
            (Values{1, 2, 1, 1, 1, 2}));
}

TEST(Rearranging, LocalResponseSumsNearChannels) {
  SmallModel model;
  model.input("x", {1, 3, 1})
      .node("LRN", {"x"}, {"y"})
      .with("size", 3)
      .withNumber("alpha", 3)
      .withNumber("beta", 1)
      .withNumber("bias", 1)
      .output("y");
  Values y = evaluate(model, {tensor({1, 3, 1}, {1, 2, 3})}).floats;
  EXPECT_NEAR(y[0], 1 / 6.0, 1e-12);
  EXPECT_NEAR(y[1], 2 / 15.0, 1e-12);
  EXPECT_NEAR(y[2], 3 / 14.0, 1e-12);
}

TEST(Rearranging, RefusesBlocksThatDoNotFit) {
  SmallModel model;
  model.input("x", {1, 3, 2, 2})
      .node("DepthToSpace", {"x"}, {"y"})
      .with("blocksize", 2)
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the DepthToSpace\" (DepthToSpace): has 3 channels, which "
            "is no multiple of 4");
}

TEST(Rearranging, ShiftsBits) {
  SmallModel model;
  model.input("x", {3}, ::onnx::TensorProto::UINT8)
      .input("by", {3}, ::onnx::TensorProto::UINT8)
      .node("BitShift", {"x", "by"}, {"y"})
      .with("direction", "RIGHT")
      .output("y");
  HostTensor x{{3}, false, {}, {200, 16, 255}}, by{{3}, false, {}, {3, 4, 8}};
  EXPECT_EQ(evaluate(model, {x, by}).integers,
            (std::vector<int64_t>{25, 1, 0}));
}

TEST(Rearranging, ReadsBitsAsAnotherType) {
  SmallModel model;
  model.input("x", {2})
      .node("BitCast", {"x"}, {"y"})
      .with("to", int(::onnx::TensorProto::INT32))
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2}, {1, -2.5})}).integers,
            (std::vector<int64_t>{1065353216, -1071644672}));
}

TEST(Rearranging, RefusesBlocksOfAnySize) {
  for (const char *type : {"DepthToSpace", "SpaceToDepth"})
    for (int64_t size : {int64_t(0), int64_t(1) << 32, INT64_MAX}) {
      SmallModel model;
      model.input("x", {1, 4, 2, 2})
          .node(type, {"x"}, {"y"})
          .with("blocksize", size)
          .output("y");
      EXPECT_NE(import(model).error.find("expected at least 1"),
                std::string::npos)
          << import(model).error;
    }
}

TEST(Rearranging, LocalResponseTreatsEachOfABatchAlike) {
  SmallModel model;
  model.input("x", {2, 2, 1})
      .node("LRN", {"x"}, {"y"})
      .with("size", INT64_MAX)
      .withNumber("alpha", 0)
      .withNumber("bias", 2)
      .withNumber("beta", 1)
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 2, 1}, {2, 4, 6, 8})}).floats,
            (Values{1, 2, 3, 4}));
}

TEST(Rearranging, EyeLikeMayHaveItsDiagonalAnywhere) {
  for (int64_t k : {INT64_MAX, INT64_MIN}) {
    SmallModel model;
    model.input("x", {2, 2})
        .node("EyeLike", {"x"}, {"eye"})
        .with("k", k)
        .node("Add", {"x", "eye"}, {"y"})
        .output("y");
    EXPECT_EQ(evaluate(model, {tensor({2, 2}, Values(4, 1))}).floats,
              Values(4, 1));
  }
}
