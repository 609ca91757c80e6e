// What a model costs follows from what it has stored, not from what it names.

#include "frontends/onnx/importer/folding_budget.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using gradus::onnx::Constant;
using gradus::onnx::FoldingBudget;
using gradus::onnx::FoldingLimit;

namespace {

constexpr int64_t kMillion = int64_t(1) << 20; // elements, of 8 MiB

Constant ofElements(mlir::MLIRContext &context, int64_t count) {
  return gradus::onnx::zeros(mlir::Builder(&context).getI64Type(), {count});
}

/// Adds every element of 0, 1, 2, ... below `limit` up to x.
SmallModel range(int64_t limit) {
  SmallModel model;
  model.input("x", {1}, ::onnx::TensorProto::INT64)
      .integers("zero", {}, {0})
      .integers("one", {}, {1})
      .integers("limit", {}, {limit})
      .node("Range", {"zero", "limit", "one"}, {"r"})
      .node("ReduceSum", {"r"}, {"s"})
      .node("Add", {"x", "s"}, {"y"});
  return model.output("y");
}

} // namespace

TEST(FoldingBudget, HoldsWhatIsKeptAndNoMore) {
  mlir::MLIRContext context;
  FoldingBudget budget(0);
  EXPECT_TRUE(budget.fits(kMillion));
  EXPECT_FALSE(budget.fits(kMillion + 1));
  auto kept = budget.keep(ofElements(context, kMillion / 2));
  EXPECT_TRUE(budget.fits(kMillion / 2));
  EXPECT_FALSE(budget.fits(kMillion / 2 + 1));
  auto same = kept; // costs nothing
  EXPECT_TRUE(budget.fits(kMillion / 2));
  EXPECT_THROW(budget.keep(ofElements(context, kMillion)), FoldingLimit);
  kept.reset();
  EXPECT_FALSE(budget.fits(kMillion));
  same.reset();
  EXPECT_TRUE(budget.fits(kMillion));
}

TEST(FoldingBudget, LeavesRoomForShapes) {
  mlir::MLIRContext context;
  FoldingBudget budget(0);
  auto all = budget.keep(ofElements(context, kMillion));
  EXPECT_FALSE(budget.fits(257));
  auto shape = budget.keep(ofElements(context, 4));
  EXPECT_TRUE(budget.fits(256));
  EXPECT_FALSE(budget.fits(257));
}

// As the weights of an LRN beside large constants.
TEST(FoldingBudget, LeavesRoomForTablesThatOpsComputeWith) {
  mlir::MLIRContext context;
  FoldingBudget budget(0);
  auto all = budget.keep(ofElements(context, kMillion));
  EXPECT_EQ(ofElements(context, kMillion).tensor.size(), kMillion);
  EXPECT_THROW(ofElements(context, kMillion + 1), FoldingLimit);
}

TEST(FoldingBudget, GrowsWithWhatTheModelHasStored) {
  FoldingBudget budget(kMillion);
  EXPECT_TRUE(budget.fits(2 * kMillion));
  EXPECT_FALSE(budget.fits(2 * kMillion + 1));
}

// As of an import within another one.
TEST(FoldingBudget, IsThatOfTheInnermost) {
  mlir::MLIRContext context;
  FoldingBudget outer(kMillion);
  {
    FoldingBudget inner(0);
    EXPECT_THROW(ofElements(context, 2 * kMillion), FoldingLimit);
  }
  EXPECT_EQ(ofElements(context, 2 * kMillion).tensor.size(), 2 * kMillion);
}

TEST(FoldingBudget, EndsWithTheBudget) {
  mlir::MLIRContext context;
  std::shared_ptr<const Constant> kept;
  {
    FoldingBudget budget(0);
    kept = budget.keep(ofElements(context, 1));
  }
  EXPECT_EQ(kept->tensor.size(), 1);
  EXPECT_EQ(ofElements(context, 3 * kMillion).tensor.size(), 3 * kMillion);
}

TEST(FoldingBudget, RefusesAFewBytesThatNameMillionsOfElements) {
  ASSERT_LT(range(0).proto().ByteSizeLong(), 453u);
  for (int64_t limit : {4 * kMillion, 64 * kMillion, 256 * kMillion})
    EXPECT_EQ(import(range(limit)).error,
              message("node \"the Range\" (Range): makes a constant of shape [",
                      limit,
                      "]; the constants that are computed of a model of this "
                      "size may take 8 MiB in all"));
}

TEST(FoldingBudget, LetsShapesAndMasksBeComputed) {
  Imported model = import(range(kMillion));
  EXPECT_EQ(model.error, "");
}

// Many constants are as large as one.
TEST(FoldingBudget, IsOfAllConstantsTogether) {
  SmallModel model;
  model.input("x", {1}, ::onnx::TensorProto::INT64)
      .integers("zero", {}, {0})
      .integers("one", {}, {1})
      .integers("limit", {}, {kMillion});
  for (int i = 0; i < 4; ++i)
    model.node("Range", {"zero", "limit", "one"}, {message("r", i)});
  model.node("Identity", {"x"}, {"y"}).output("y");
  EXPECT_NE(import(model).error.find("may take 8 MiB in all"),
            std::string::npos);
}

// What can be built is built, and computed when the step runs.
TEST(FoldingBudget, LeavesToTheGraphWhatDoesNotFit) {
  SmallModel model;
  model.input("x", {1}, ::onnx::TensorProto::INT64)
      .integers("zero", {}, {0})
      .integers("one", {}, {1})
      .integers("limit", {}, {1100})
      .integers("column", {2}, {1100, 1})
      .node("Range", {"zero", "limit", "one"}, {"r"})
      .node("Reshape", {"r", "column"}, {"c"})
      .node("Add", {"r", "c"}, {"square"})
      .node("ReduceMax", {"square"}, {"most"})
      .with("keepdims", 0)
      .node("Add", {"x", "most"}, {"y"});
  HostTensor one = zeros({1}, /*isFloat=*/false);
  EXPECT_EQ(evaluate(model.output("y"), {one}).integers,
            std::vector<int64_t>{2 * 1099});
}

// As ONNX's own light models make their weights.
TEST(FoldingBudget, TakesOneNumberForAConstantOfMany) {
  SmallModel model;
  model.input("x", {1})
      .integers("shape", {2}, {4096, 1024})
      .node("ConstantOfShape", {"shape"}, {"c"});
  auto &value = *model.graph().mutable_node(0)->add_attribute();
  value.set_name("value");
  value.mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
  value.mutable_t()->add_float_data(0.5);
  model.node("ReduceMax", {"c"}, {"most"})
      .with("keepdims", 0)
      .node("Add", {"x", "most"}, {"y"});
  EXPECT_EQ(evaluate(model.output("y"), {tensor({1}, {1})}).floats,
            std::vector<double>{1.5});
}

// A body that gives the same constant each time refers to it.
TEST(FoldingBudget, CountsWhatLoopsStack) {
  SmallModel model, body;
  body.input("i", {}, ::onnx::TensorProto::INT64)
      .input("goes", {}, ::onnx::TensorProto::BOOL)
      .node("Identity", {"goes"}, {"again"})
      .output("again")
      .output("r");
  model.input("x", {1}, ::onnx::TensorProto::INT64)
      .integers("zero", {}, {0})
      .integers("one", {}, {1})
      .integers("limit", {}, {kMillion})
      .integers("count", {}, {100})
      .node("Range", {"zero", "limit", "one"}, {"r"})
      .node("Loop", {"count", ""}, {"all"});
  auto &attribute = *model.graph().mutable_node(1)->add_attribute();
  attribute.set_name("body");
  *attribute.mutable_g() = body.graph();
  EXPECT_EQ(errorOf(model.node("Shape", {"all"}, {"y"})),
            "node \"the Loop\" (Loop): makes a constant of shape [100, "
            "1048576]; the constants that are computed of a model of this size "
            "may take 8 MiB in all");
}
