// Comparisons, truth, choices and casts, on values that only a run knows and
// on constants alike.

#include "tests/this_build.h"

#include "tests/frontends/onnx/small_model.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;
using Numbers = std::vector<int64_t>;

static HostTensor given(Values values) {
  HostTensor tensor = zeros({int64_t(values.size())});
  tensor.floats = std::move(values);
  return tensor;
}

static HostTensor run(SmallModel model, const HostTensor &input) {
  return evaluate(model.output("y"), {input});
}

/// y of a node on the floats x and c, where c is 1, 2, 3.
static HostTensor against(const char *type, Values x) {
  SmallModel model;
  model.input("x", {3}).floats("w", {3}, {1, 2, 3});
  return run(model.node(type, {"x", "w"}, {"y"}), given(x));
}

TEST(Logic, Compares) {
  EXPECT_EQ(against("Equal", {1, 3, NAN}).integers, (Numbers{1, 0, 0}));
  EXPECT_EQ(against("Greater", {1, 3, NAN}).integers, (Numbers{0, 1, 0}));
  EXPECT_EQ(against("LessOrEqual", {1, 3, 2}).integers, (Numbers{1, 0, 1}));
}

TEST(Logic, CombinesAndChooses) {
  SmallModel model;
  model.input("x", {3})
      .floats("w", {3}, {1, 2, 3})
      .node("Less", {"x", "w"}, {"a"})
      .node("IsNaN", {"x"}, {"b"})
      .node("Or", {"a", "b"}, {"c"})
      .node("Not", {"c"}, {"d"})
      .node("Where", {"d", "x", "w"}, {"y"});
  EXPECT_EQ(run(model, given({0, 5, NAN})).floats, (Values{1, 5, 3}));
}

TEST(Logic, RefusesWhatIsNotBoolean) {
  SmallModel model;
  model.input("x", {3}).node("Not", {"x"}, {"y"}).output("y");
  EXPECT_EQ(import(model).error,
            "node \"the Not\" (Not): its input is not boolean");
  SmallModel where;
  where.input("x", {3}).node("Where", {"x", "x", "x"}, {"y"}).output("y");
  EXPECT_EQ(import(where).error,
            "node \"the Where\" (Where): its condition is not boolean");
}

TEST(Logic, KnowsInfinities) {
  SmallModel model;
  model.input("x", {3}).node("IsInf", {"x"}, {"y"}).with("detect_negative", 0);
  EXPECT_EQ(run(model, given({INFINITY, -INFINITY, 1})).integers,
            (Numbers{1, 0, 0}));
}

TEST(Logic, TakesTheSignOfTheDivisorOfIntegers) {
  SmallModel model;
  model.integers("a", {4}, {7, -7, 7, -6})
      .integers("b", {4}, {3, 3, -3, 3})
      .node("Mod", {"a", "b"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(model, {}).integers, (Numbers{1, 2, -2, 0}));
}

TEST(Logic, RaisesToPowers) {
  for (double exponent : {-1.0, 0.5, 1.0, 2.0, 3.0, 4.0, 2.5}) {
    SmallModel model;
    model.input("x", {1}).floats("p", {}, {float(exponent)});
    EXPECT_NEAR(run(model.node("Pow", {"x", "p"}, {"y"}), given({3})).floats[0],
                std::pow(3, exponent), 1e-12);
  }
}

TEST(Logic, CastsTowardsZeroAndToTruth) {
  SmallModel model;
  model.input("x", {3}).node("Cast", {"x"}, {"y"});
  model.with("to", int(::onnx::TensorProto::INT64));
  EXPECT_EQ(run(model, given({-1.7, 0.5, 2})).integers, (Numbers{-1, 0, 2}));
  SmallModel truth;
  truth.input("x", {3}).node("Cast", {"x"}, {"y"});
  truth.with("to", int(::onnx::TensorProto::BOOL));
  EXPECT_EQ(run(truth, given({-1.7, 0, NAN})).integers, (Numbers{1, 0, 1}));
}

TEST(Logic, CastsLikeAnother) {
  SmallModel model;
  model.input("x", {1}).integers("i", {1}, {4});
  model.node("CastLike", {"i", "x"}, {"f"}).node("Add", {"f", "x"}, {"y"});
  EXPECT_EQ(run(model, given({0.5})).floats, (Values{4.5}));
}

TEST(Logic, GivesSigns) {
  SmallModel model;
  model.input("x", {4}).node("Sign", {"x"}, {"y"});
  Values y = run(model, given({-3, 0, 2, NAN})).floats;
  EXPECT_EQ(Values(y.begin(), y.begin() + 3), (Values{-1, 0, 1}));
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Logic, CombinesManyInputs) {
  SmallModel model;
  model.input("x", {2}).floats("a", {}, {3}).floats("b", {2}, {4, 5});
  EXPECT_EQ(
      run(model.node("Mean", {"x", "a", "b"}, {"y"}), given({2, 4})).floats,
      (Values{3, 4}));
}

TEST(Logic, TakesAnyRestOfReals) {
  EXPECT_EQ(against("Mod", {-1, 5, NAN}).floats[1], 1);
  SmallModel model;
  model.input("x", {2}).floats("w", {2}, {3, INFINITY});
  Values y = run(model.node("Mod", {"x", "w"}, {"y"}), given({-1, 5})).floats;
  EXPECT_EQ(y, (Values{2, 5}));
}

/// y of two nodes' worth of u8: the numbers 200 and 100.
static HostTensor ofBytes(const char *type) {
  SmallModel model;
  model.input("x", {1}, ::onnx::TensorProto::UINT8)
      .input("z", {1}, ::onnx::TensorProto::UINT8)
      .node(type, {"x", "z"}, {"y"})
      .output("y");
  HostTensor x{{1}, false, {}, {200}}, z{{1}, false, {}, {100}};
  return evaluate(model, {x, z});
}

TEST(Logic, KnowsNumbersWithoutASign) {
  EXPECT_EQ(ofBytes("Greater").integers, (Numbers{1}));
  EXPECT_EQ(ofBytes("Max").integers[0] & 255, 200);
  EXPECT_EQ(ofBytes("Div").integers, (Numbers{2}));
  EXPECT_EQ(ofBytes("Mod").integers, (Numbers{0}));
  EXPECT_EQ(ofBytes("Add").integers[0] & 255, 44);
}

TEST(Logic, CastsNumbersWithoutASign) {
  SmallModel model;
  model.input("x", {2}, ::onnx::TensorProto::UINT8)
      .node("Cast", {"x"}, {"y"})
      .with("to", int(::onnx::TensorProto::FLOAT))
      .output("y");
  HostTensor x{{2}, false, {}, {255, 7}};
  EXPECT_EQ(evaluate(model, {x}).floats, (Values{255, 7}));
}

/// The ops that an export of clamp(min=0), clamp(max=0), clamp(0, 1) and
/// maximum(x, 0) becomes. PyTorch's gradients where the element is the limit
/// are 0, 0, 0 and a half: those of gradus.clip and arith.maximumf.
TEST(Logic, TakesClampsForClips) {
  for (const char *name : {"clamped_whole", "clamped_script"}) {
    SCOPED_TRACE(name);
    Imported model = import(
        std::string(GRADUS_SOURCE_DIR "/tests/data/exports/") + name + ".onnx");
    ASSERT_EQ(model.error, "");
    int maxima = 0, minima = 0;
    model.predict().walk([&](mlir::arith::MaximumFOp) { ++maxima; });
    model.predict().walk([&](mlir::arith::MinimumFOp) { ++minima; });
    EXPECT_EQ(maxima, 1);
    EXPECT_EQ(minima, 0);
    auto results = model.predict().getReturned();
    for (int clamp : {0, 1, 2})
      EXPECT_TRUE(results[clamp].getDefiningOp<ClipOp>()) << clamp;
    EXPECT_TRUE(results[3].getDefiningOp<mlir::arith::MaximumFOp>());
    std::vector<HostTensor> y =
        evaluate(model, {tensor({4, 6}, std::vector<double>(24, 0.5))});
    for (auto [i, atMost] : llvm::enumerate(y[1].floats)) {
      double value = y[0].floats[i] + atMost;
      EXPECT_EQ(y[0].floats[i], std::max(value, 0.0));
      EXPECT_EQ(y[2].floats[i], std::clamp(value, 0.0, 1.0));
      EXPECT_EQ(y[3].floats[i], std::max(value, 0.0));
    }
  }
}

TEST(Logic, KeepsTheSignOfInputsAndOutputs) {
  SmallModel model;
  model.input("x", {2}, ::onnx::TensorProto::UINT16)
      .node("Abs", {"x"}, {"y"})
      .output("y");
  Imported imported = import(model);
  ASSERT_EQ(imported.error, "");
  auto element = [](mlir::Type type) {
    return mlir::cast<mlir::RankedTensorType>(type).getElementType();
  };
  EXPECT_TRUE(
      element(imported.predict().getArgumentTypes()[0]).isUnsignedInteger(16));
  EXPECT_TRUE(element(imported.predict().getReturned()[0].getType())
                  .isUnsignedInteger(16));
}
