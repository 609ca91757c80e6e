// Elementwise ONNX ops, computed and folded.

#include "tests/this_build.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// `type` of x = [[1], [-2]] and y = [4, 8].
static HostTensor binary(const char *type) {
  return evaluate(SmallModel()
                      .input("x", {2, 1})
                      .input("y", {2})
                      .node(type, {"x", "y"}, {"z"})
                      .output("z"),
                  {tensor({2, 1}, {1, -2}), tensor({2}, {4, 8})});
}

TEST(Elementwise, BroadcastsBothOperands) {
  EXPECT_EQ(binary("Add").floats, (Values{5, 9, 2, 6}));
  EXPECT_EQ(binary("Sub").floats, (Values{-3, -7, -6, -10}));
  EXPECT_EQ(binary("Mul").floats, (Values{4, 8, -8, -16}));
  EXPECT_EQ(binary("Div").floats, (Values{0.25, 0.125, -0.5, -0.25}));
}

static Values unary(const char *type, const Values &values) {
  Shape shape = {int64_t(values.size())};
  return evaluate(SmallModel()
                      .input("x", shape)
                      .node(type, {"x"}, {"y"})
                      .output("y"),
                  {tensor(shape, values)})
      .floats;
}

TEST(Elementwise, ComputesFunctions) {
  EXPECT_EQ(unary("Relu", {-1, 2}), (Values{0, 2}));
  EXPECT_EQ(unary("Neg", {-1, 2}), (Values{1, -2}));
  EXPECT_EQ(unary("Sqrt", {4, 9}), (Values{2, 3}));
  EXPECT_EQ(unary("Identity", {4}), (Values{4}));
  EXPECT_NEAR(unary("Tanh", {1})[0], std::tanh(1), 1e-12);
  EXPECT_NEAR(unary("Exp", {1})[0], std::exp(1), 1e-12);
  EXPECT_NEAR(unary("Log", {2})[0], std::log(2), 1e-12);
  EXPECT_NEAR(unary("Erf", {0.5})[0], std::erf(0.5), 1e-12);
  EXPECT_NEAR(unary("Sigmoid", {0.5})[0], 1 / (1 + std::exp(-0.5)), 1e-12);
  EXPECT_NEAR(unary("Gelu", {1})[0], (1 + std::erf(std::sqrt(0.5))) / 2, 1e-12);
}

TEST(Elementwise, ApproximatesGeluByTanh) {
  SmallModel model;
  model.input("x", {1})
      .node("Gelu", {"x"}, {"y"})
      .with("approximate", "tanh")
      .output("y");
  EXPECT_NEAR(evaluate(model, {tensor({1}, {1})}).floats[0], 0.8411919906,
              1e-9);
}

TEST(Elementwise, CastsBetweenFloats) {
  SmallModel model;
  model.input("x", {1})
      .node("Cast", {"x"}, {"y"})
      .with("to", int64_t(::onnx::TensorProto::DOUBLE))
      .output("y");
  Imported imported = import(model);
  EXPECT_EQ(evaluate(imported, {tensor({1}, {1.5})})[0].floats, (Values{1.5}));
  EXPECT_TRUE(
      mlir::cast<mlir::RankedTensorType>(imported.predict().getResultTypes()[0])
          .getElementType()
          .isF64());
}

//===-- dropout -----------------------------------------------------------===//

static SmallModel dropout(float ratio, bool training) {
  SmallModel model;
  model.input("x", {1})
      .floats("ratio", {}, {ratio})
      .node("Constant", {}, {"training"});
  auto &value = *model.graph().mutable_node(0)->add_attribute();
  value.set_name("value");
  value.mutable_t()->set_data_type(::onnx::TensorProto::BOOL);
  value.mutable_t()->add_int32_data(training);
  return model.node("Dropout", {"x", "ratio", "training"}, {"y", "mask"})
      .output("y");
}

TEST(Elementwise, LetsAllThroughWhereNothingDrops) {
  EXPECT_EQ(evaluate(dropout(0, true), {tensor({1}, {3})}).floats, (Values{3}));
  EXPECT_EQ(evaluate(dropout(0.5, false), {tensor({1}, {3})}).floats,
            (Values{3}));
}

TEST(Elementwise, GivesTheMaskOfADropoutThatDropsNothing) {
  SmallModel model = dropout(0, true).output("mask");
  Imported imported = import(model);
  auto outputs = evaluate(imported, {tensor({1}, {3})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].integers, std::vector<int64_t>{1});
  EXPECT_NE(import(dropout(0.5, true).output("mask"))
                .error.find("the mask of node \"the Dropout\" (Dropout), which "
                            "is not supported"),
            std::string::npos);
}

TEST(Elementwise, GivesOldMasksInNumbers) {
  SmallModel model;
  model.setOpset(7).input("x", {1}).output("y").output("mask");
  model.node("Dropout", {"x"}, {"y", "mask"}).withNumber("ratio", 0);
  Imported imported = import(model);
  auto outputs = evaluate(imported, {tensor({1}, {3})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].floats, Values{1});
}

/// The ratios of a model's dropouts, imported with a recipe.
static Values ratios(const std::string &path, const char *recipe) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  ImportOptions options;
  options.recipe =
      mlir::cast<mlir::DictionaryAttr>(mlir::parseAttribute(recipe, &context));
  auto module = importOnnx(path, options, context);
  EXPECT_TRUE(module.ok()) << module.status();
  Values found;
  (*module)->walk(
      [&](DropoutOp op) { found.push_back(op.getRatio().convertToDouble()); });
  return found;
}
static Values ratios(const SmallModel &model, const char *recipe) {
  return ratios(model.write(), recipe);
}

/// A dropout in inference form that states no ratio.
static SmallModel bareDropout() {
  return SmallModel().input("x", {1}).node("Dropout", {"x"}, {"y"}).output("y");
}

/// The TorchScript exporter writes Dropout(0.5) of a net in training so at
/// opset 11.
static const char *kDroppingOld =
    GRADUS_SOURCE_DIR "/tests/data/exports/dropping_old.onnx";

TEST(Elementwise, DropsTheStatedRatioInEitherForm) {
  EXPECT_EQ(ratios(dropout(0.5, true), "{}"), (Values{0.5}));
  EXPECT_EQ(ratios(dropout(0.25, false), "{}"), (Values{0.25}));
  EXPECT_EQ(ratios(kDroppingOld, "{}"), (Values{0.5, 0.5}));
  EXPECT_EQ(ratios(bareDropout(), "{}"), Values());
  EXPECT_EQ(evaluate(dropout(0.5, true), {tensor({1}, {3})}).floats,
            (Values{3})); // @predict drops nothing
}

TEST(Elementwise, DropsWhatTheRecipeSays) {
  EXPECT_EQ(ratios(dropout(0.5, false), "{dropout = 0.25}"), (Values{0.25}));
  EXPECT_EQ(ratios(bareDropout(), "{dropout = 0.25}"), (Values{0.25}));
  EXPECT_EQ(ratios(dropout(0.5, true), "{dropout = 0.0}"), Values());
  EXPECT_EQ(ratios(kDroppingOld, "{dropout = 0.0}"), Values());
}

TEST(Elementwise, SaysWhatDropoutsInInferenceFormDo) {
  const char *loss = "{loss = {type = \"mse\"}}";
  std::string drops = " in inference form; training drops by the stated ratio "
                      "(\"dropout\": 0 in the recipe drops nothing)";
  EXPECT_EQ(notes(kDroppingOld, loss), "2 dropouts are" + drops);
  EXPECT_EQ(notes(dropout(0.5, false).write(), loss), "1 dropout is" + drops);
  EXPECT_EQ(notes(bareDropout().write(), loss),
            "1 dropout is in inference form without a ratio; training drops "
            "nothing there (\"dropout\": 0.1 in the recipe lets every dropout "
            "drop so much)");
  EXPECT_EQ(notes(dropout(0, false).write(), loss), "");
  EXPECT_EQ(notes(dropout(0.5, true).write(), loss), "");
  EXPECT_EQ(notes(dropout(0.5, false).write(), "{}"), "");
  EXPECT_EQ(notes(dropout(0.5, false).write(),
                  "{loss = {type = \"mse\"}, dropout = 0.2}"),
            "");
}

TEST(Elementwise, RefusesARatioThatIsNone) {
  for (bool training : {true, false})
    EXPECT_EQ(
        import(dropout(1.5, training)).error,
        "node \"the Dropout\" (Dropout): its ratio is 1.5, expected 0 to 1");
}

//===-- folding -----------------------------------------------------------===//

/// The shape that `x` of 24 elements gets by integers computed in the model.
static Shape shapeBy(const char *type, const std::vector<int64_t> &a,
                     const std::vector<int64_t> &b) {
  SmallModel model;
  model.input("x", {24})
      .integers("a", {int64_t(a.size())}, a)
      .integers("b", {int64_t(b.size())}, b);
  model.node(type, {"a", "b"}, {"shape"})
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  HostTensor result = evaluate(model, {tensor({24}, Values(24))});
  return Shape(result.shape.begin(), result.shape.end());
}

TEST(Elementwise, FoldsIntegers) {
  EXPECT_EQ(shapeBy("Add", {1, 10}, {1, 2}), (Shape{2, 12}));
  EXPECT_EQ(shapeBy("Sub", {4, 14}, {2}), (Shape{2, 12}));
  EXPECT_EQ(shapeBy("Mul", {1, 6}, {2}), (Shape{2, 12}));
  EXPECT_EQ(shapeBy("Div", {5, 24}, {2}), (Shape{2, 12}));
  EXPECT_EQ(shapeBy("Max", {1, 12}, {2}), (Shape{2, 12}));
  EXPECT_EQ(shapeBy("Min", {2, 13}, {5, 12}), (Shape{2, 12}));
}

/// 10 * 0.7f is 7 in f32 and less in f64.
TEST(Elementwise, FoldsInTheTypeOfTheModel) {
  SmallModel model;
  model.input("x", {1})
      .floats("ten", {}, {10})
      .floats("part", {}, {0.7f})
      .floats("six", {}, {6});
  model.node("Mul", {"ten", "part"}, {"seven"})
      .node("Sub", {"seven", "six"}, {"one"})
      .node("Floor", {"one"}, {"whole"})
      .node("Add", {"x", "whole"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1}, {2})}).floats, (Values{3}));
}

TEST(Elementwise, FoldsChoices) {
  SmallModel model;
  model.input("x", {6})
      .integers("a", {2}, {-1, 3})
      .integers("b", {2}, {2, 2})
      .integers("least", {}, {0});
  model.node("Less", {"a", "least"}, {"isOpen"})
      .node("Where", {"isOpen", "b", "a"}, {"shape"});
  model.node("Reshape", {"x", "shape"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({6}, Values(6))}).shape,
            (llvm::SmallVector<int64_t>{2, 3}));
}

TEST(Elementwise, RefusesToDivideByZero) {
  SmallModel model;
  model.integers("a", {1}, {1})
      .integers("b", {1}, {0})
      .node("Div", {"a", "b"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the Div\" (Div): divides an integer by zero");
}

TEST(Elementwise, RefusesShapesThatDoNotBroadcast) {
  EXPECT_EQ(import(SmallModel()
                       .input("x", {2})
                       .input("y", {3})
                       .node("Add", {"x", "y"}, {"z"})
                       .output("z"))
                .error,
            "node \"the Add\" (Add): shapes [2] and [3] do not broadcast");
}

TEST(Elementwise, RefusesMixedTypes) {
  SmallModel model;
  model.input("x", {2})
      .input("y", {2}, ::onnx::TensorProto::DOUBLE)
      .node("Add", {"x", "y"}, {"z"})
      .output("z");
  EXPECT_EQ(import(model).error, "node \"the Add\" (Add): its inputs have the "
                                 "different element types f32 and f64");
}

// Only the type of the second input matters, so a constant stays a constant.
TEST(Elementwise, CastsLikeAnotherValue) {
  SmallModel model;
  model.input("x", {2}).integers("six", {}, {6});
  model.node("CastLike", {"six", "x"}, {"limit"});
  model.node("Clip", {"x", "", "limit"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({2}, {5, 7})}).floats,
            (std::vector<double>{5, 6}));
}
