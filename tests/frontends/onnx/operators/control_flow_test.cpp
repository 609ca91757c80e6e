// Branches and loops that the model itself decides become part of its graph.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

namespace {

/// A graph that is an attribute of the last node of `model`; what `fill` adds
/// to it is written as a small model of its own.
void addGraph(SmallModel &model, const std::string &key,
              const SmallModel &inner) {
  auto &node = *model.graph().mutable_node()->rbegin();
  auto &attribute = *node.add_attribute();
  attribute.set_name(key);
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = const_cast<SmallModel &>(inner).graph();
}

/// x + x or x * x, as a constant says.
Values chosen(int64_t condition) {
  SmallModel model, sum, product;
  sum.node("Add", {"x", "x"}, {"s"}).output("s");
  product.node("Mul", {"x", "x"}, {"p"}).output("p");
  model.input("x", {2})
      .integers("number", {}, {condition})
      .node("Cast", {"number"}, {"condition"})
      .with("to", int(::onnx::TensorProto::BOOL))
      .node("If", {"condition"}, {"y"});
  addGraph(model, "then_branch", sum);
  addGraph(model, "else_branch", product);
  model.output("y");
  return evaluate(model, {tensor({2}, {3, 5})}).floats;
}

/// If in the branch of an If and so on: x of the outermost graph.
SmallModel nested(int depth) {
  ::onnx::GraphProto graph;
  for (int i = 0; i <= depth; ++i) {
    ::onnx::GraphProto outer;
    auto &node = *outer.add_node();
    node.set_op_type(i == 0 ? "Identity" : "If");
    node.add_input(i == 0 ? "x" : "condition");
    node.add_output(message("y", i));
    outer.add_output()->set_name(node.output(0));
    if (i > 0) {
      auto &branch = *node.add_attribute();
      branch.set_name("then_branch");
      branch.set_type(::onnx::AttributeProto::GRAPH);
      branch.mutable_g()->Swap(&graph);
    }
    graph.Swap(&outer);
  }
  SmallModel model;
  model.integers("number", {}, {1})
      .input("x", {2})
      .node("Cast", {"number"}, {"condition"})
      .with("to", int(::onnx::TensorProto::BOOL));
  model.graph().mutable_node()->Add()->Swap(graph.mutable_node(0));
  return model.output(message("y", depth));
}

/// Runs a body that adds x to what it carries and gives the time's number.
SmallModel loopOf(const std::string &condition) {
  SmallModel model, body;
  body.input("i", {}, ::onnx::TensorProto::INT64)
      .input("goes", {}, ::onnx::TensorProto::BOOL)
      .input("before", {2})
      .integers("last", {}, {2})
      .node("Add", {"before", "x"}, {"after"})
      .node("Less", {"i", "last"}, {"again"})
      .output(condition)
      .output("after")
      .node("Mul", {"after", "after"}, {"square"})
      .output("square")
      .output("i");
  model.input("x", {2})
      .integers("count", {}, {7})
      .node("Loop", {"count", "", "x"}, {"sum", "squares", "numbers"});
  addGraph(model, "body", body);
  return model;
}

} // namespace

// More than what protobuf reads without being asked to.
TEST(ControlFlow, TakesBranchesDeepInOneAnother) {
  EXPECT_EQ(evaluate(nested(45), {tensor({2}, {3, 5})}).floats, (Values{3, 5}));
  EXPECT_EQ(evaluate(nested(299), {tensor({2}, {3, 5})}).floats,
            (Values{3, 5}));
}

TEST(ControlFlow, RefusesBranchesDeeperThanItCanLook) {
  EXPECT_EQ(import(nested(5000)).error,
            "is no ONNX model, is damaged, or has graphs more than 300 deep in "
            "one another: protobuf cannot parse it");
}

TEST(ControlFlow, TakesTheBranchThatIsKnown) {
  EXPECT_EQ(chosen(1), (Values{6, 10}));
  EXPECT_EQ(chosen(0), (Values{9, 25}));
}

TEST(ControlFlow, RunsALoopUntilItsConditionFails) {
  EXPECT_EQ(
      evaluate(loopOf("again").output("sum"), {tensor({2}, {1, 2})}).floats,
      (Values{4, 8}));
  HostTensor squares =
      evaluate(loopOf("again").output("squares"), {tensor({2}, {1, 2})});
  EXPECT_EQ(squares.floats, (Values{4, 16, 9, 36, 16, 64}));
  EXPECT_EQ(Shape(squares.shape.begin(), squares.shape.end()), (Shape{3, 2}));
}

TEST(ControlFlow, RunsALoopAsOftenAsItSays) {
  EXPECT_EQ(
      evaluate(loopOf("goes").output("sum"), {tensor({2}, {1, 2})}).floats,
      (Values{8, 16}));
}

// Shapes may hang on what loops give: it stays known.
TEST(ControlFlow, StacksConstantsToAConstant) {
  SmallModel model = loopOf("again");
  model.node("Unsqueeze", {"x", "numbers"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({2}, {1, 2})}).shape,
            (llvm::SmallVector<int64_t>{1, 1, 1, 2}));
}

TEST(ControlFlow, RefusesWhatOnlyARunDecides) {
  SmallModel model, branch;
  branch.node("Neg", {"x"}, {"n"}).output("n");
  model.input("x", {2})
      .input("condition", {}, ::onnx::TensorProto::BOOL)
      .node("If", {"condition"}, {"y"});
  addGraph(model, "then_branch", branch);
  addGraph(model, "else_branch", branch);
  model.output("y");
  EXPECT_NE(import(model).error.find(
                "node \"the If\" (If): its condition depends on the model's "
                "inputs; only what is known beforehand is supported. Compute "
                "both branches and choose with torch.where(condition, a, b)"),
            std::string::npos)
      << import(model).error;
}

TEST(ControlFlow, TellsAnOpThatIsMissingInABodyOnce) {
  SmallModel model, body;
  body.input("i", {}, ::onnx::TensorProto::INT64)
      .input("goes", {}, ::onnx::TensorProto::BOOL)
      .node("Fancy", {"x"}, {"f"})
      .output("goes")
      .output("f");
  model.input("x", {2})
      .integers("count", {}, {3})
      .node("Loop", {"count", ""}, {"y"});
  addGraph(model, "body", body);
  model.output("y");
  EXPECT_NE(import(model).error.find("Fancy (opset 20); node \"the Fancy\""),
            std::string::npos)
      << import(model).error;
}

// Names of one branch mean nothing in another.
TEST(ControlFlow, KeepsConstantsOfBranchesApart) {
  SmallModel model, first, second, unused;
  first.integers("k", {1}, {1}).node("Squeeze", {"x", "k"}, {"s"}).output("s");
  second.integers("k", {1}, {0}).node("Squeeze", {"z", "k"}, {"t"}).output("t");
  unused.node("Identity", {"x"}, {"u"}).output("u");
  model.input("x", {1, 1, 2})
      .integers("number", {}, {1})
      .node("Cast", {"number"}, {"condition"})
      .with("to", int(::onnx::TensorProto::BOOL))
      .node("If", {"condition"}, {"z"});
  addGraph(model, "then_branch", first);
  addGraph(model, "else_branch", unused);
  model.node("If", {"condition"}, {"y"});
  addGraph(model, "then_branch", second);
  addGraph(model, "else_branch", unused);
  model.output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 1, 2}, {3, 5})}).shape,
            (llvm::SmallVector<int64_t>{2}));
}
