// Which names become states, and when.

#include "frontends/onnx/importer/importer.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

static size_t countStates(Imported &model) {
  EXPECT_EQ(model.error, "");
  return llvm::range_size(model.program().getOps<StateOp>());
}

// Most scalars are constants; `blocks.0.gain` is a parameter of a module.
TEST(Importer, TrainsScalarsThatAreMembersOrNamed) {
  using gradus::onnx::mayBeTrained;
  EXPECT_TRUE(mayBeTrained("w", 1, {"*"}));
  EXPECT_TRUE(mayBeTrained("blocks.0.gain", 0, {"*"}));
  EXPECT_FALSE(mayBeTrained("val_36", 0, {"*"}));
  EXPECT_FALSE(mayBeTrained("/blocks.0/Constant_output_0", 0, {"*"}));
  EXPECT_TRUE(mayBeTrained("gain", 0, {"gain"}));
  SmallModel model;
  model.input("x", {2})
      .floats("a.gain", {}, {3})
      .floats("half", {}, {0.5})
      .node("Mul", {"x", "a.gain"}, {"a"})
      .node("Mul", {"a", "half"}, {"y"})
      .output("y");
  Imported imported = import(model);
  EXPECT_EQ(countStates(imported), 1u);
}

TEST(Importer, MakesOneStateOfATiedWeight) {
  SmallModel model;
  model.input("x", {1})
      .floats("w", {1}, {3})
      .node("Mul", {"x", "w"}, {"a"})
      .node("Mul", {"a", "w"}, {"y"})
      .output("y");
  Imported imported = import(model);
  EXPECT_EQ(countStates(imported), 1u);
  EXPECT_EQ(evaluate(imported, {tensor({1}, {2})})[0].floats,
            std::vector<double>{18});
}

TEST(Importer, LeavesUnusedInitializersOut) {
  Imported imported = import(SmallModel()
                                 .input("x", {1})
                                 .floats("w", {1}, {3})
                                 .node("Relu", {"x"}, {"y"})
                                 .output("y"));
  EXPECT_EQ(countStates(imported), 0u);
}

TEST(Importer, TakesScalarsAndIntegersForConstants) {
  SmallModel model;
  model.input("x", {2}).floats("scale", {}, {3}).integers("shape", {1}, {-1});
  model.node("Mul", {"x", "scale"}, {"a"})
      .node("Reshape", {"a", "shape"}, {"y"})
      .output("y");
  Imported imported = import(model);
  EXPECT_EQ(countStates(imported), 0u);
  EXPECT_EQ(evaluate(imported, {tensor({2}, {1, 2})})[0].floats,
            (std::vector<double>{3, 6}));
}

/// A transposed parameter is still that parameter.
TEST(Importer, NeverFoldsThroughAParameter) {
  SmallModel model;
  model.input("x", {1, 2})
      .floats("w", {1, 2}, {3, 4})
      .node("Transpose", {"w"}, {"t"})
      .node("MatMul", {"x", "t"}, {"y"});
  Imported imported = import(model.output("y"));
  EXPECT_EQ(countStates(imported), 1u);
  EXPECT_EQ(evaluate(imported, {tensor({1, 2}, {1, 10})})[0].floats,
            std::vector<double>{43});
}
