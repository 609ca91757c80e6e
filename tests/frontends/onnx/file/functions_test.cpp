// A model's own functions are put in place of their calls.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

/// acme::Twice(x) = x + x, by way of an inner name.
static ::onnx::FunctionProto &addTwice(SmallModel &model,
                                       const char *inner = "Add") {
  auto &function = *model.proto().add_functions();
  function.set_domain("acme");
  function.set_name("Twice");
  function.add_input("x");
  function.add_output("r");
  auto &identity = *function.add_node();
  identity.set_op_type("Identity");
  identity.add_input("x");
  identity.add_output("t");
  auto &add = *function.add_node();
  add.set_op_type(inner);
  add.add_input("t");
  add.add_input("x");
  add.add_output("r");
  return function;
}

static void call(SmallModel &model, const char *x, const char *y) {
  model.node("Twice", {x}, {y});
  auto &nodes = *model.graph().mutable_node();
  nodes.rbegin()->set_domain("acme");
}

TEST(Functions, AreInlinedWithNamesOfTheirOwn) {
  SmallModel model;
  model.input("x", {2});
  addTwice(model);
  call(model, "x", "t"); // "t" is a name inside, too
  call(model, "t", "y");
  HostTensor x = zeros({2});
  x.floats = {1, -3};
  EXPECT_EQ(evaluate(model.output("y"), {x}).floats,
            (std::vector<double>{4, -12}));
}

TEST(Functions, TakeAttributesOfTheCallOrTheirDefaults) {
  for (bool given : {false, true}) {
    SmallModel model;
    model.input("x", {2, 3});
    auto &function = addTwice(model, "Concat");
    auto &reference = *function.mutable_node(1)->add_attribute();
    reference.set_name("axis");
    reference.set_ref_attr_name("where");
    auto &fallback = *function.add_attribute_proto();
    fallback.set_name("where");
    fallback.set_i(0);
    call(model, "x", "y");
    if (given)
      model.with("where", 1);
    auto imported = import(model.output("y"));
    ASSERT_EQ(imported.error, "");
    auto type = mlir::cast<mlir::RankedTensorType>(
        imported.predict().getResultTypes()[0]);
    EXPECT_EQ(type.getDimSize(given), given ? 6 : 4);
  }
}

TEST(Functions, MayNotCallThemselves) {
  SmallModel model;
  model.input("x", {2});
  addTwice(model, "Twice").mutable_node(1)->set_domain("acme");
  call(model, "x", "y");
  EXPECT_EQ(import(model.output("y")).error,
            "function acme::Twice calls itself");
}

/// Functions acme::F0, acme::F1, ..., each of which calls the one after it
/// `calls` times, and the last of which is the identity; F0 is called.
static SmallModel chain(int length, int calls) {
  SmallModel model;
  model.input("x", {2});
  for (int i = 0; i < length; ++i) {
    auto &function = *model.proto().add_functions();
    function.set_domain("acme");
    function.set_name(gradus::message("F", i));
    function.add_input("v0");
    function.add_output(gradus::message("v", calls));
    for (int k = 0; k < calls; ++k) {
      auto &node = *function.add_node();
      bool isLast = i + 1 == length;
      node.set_op_type(isLast ? "Identity" : gradus::message("F", i + 1));
      node.set_domain(isLast ? "" : "acme");
      node.add_input(gradus::message("v", k));
      node.add_output(gradus::message("v", k + 1));
    }
  }
  model.node("F0", {"x"}, {"y"}).output("y");
  model.graph().mutable_node(0)->set_domain("acme");
  return model;
}

TEST(Functions, MayNotCallThemselvesByWayOfOthers) {
  SmallModel model = chain(3, 1);
  auto &last = *model.proto().mutable_functions(2)->mutable_node(0);
  last.set_domain("acme");
  last.set_op_type("F1");
  EXPECT_EQ(import(model).error,
            "function acme::F1 calls itself, by way of acme::F2");
}

TEST(Functions, MayCallOthersManyLevelsDeep) {
  EXPECT_EQ(evaluate(chain(900, 1), {tensor({2}, {1, -3})}).floats,
            (std::vector<double>{1, -3}));
}

TEST(Functions, MayNotCallOthersDeeperThanNamesBear) {
  EXPECT_EQ(import(chain(5000, 1)).error,
            "function acme::F0 calls others, 5000 levels deep; at most 1000 "
            "are supported");
}

// Twenty functions that call one another twice make 2^20 nodes.
TEST(Functions, MayNotMakeAModelOfMillionsOfNodes) {
  EXPECT_NE(
      import(chain(20, 2))
          .error.find(
              "its functions, put in place of their calls, make more than "
              "200000 nodes"),
      std::string::npos);
}

/// Functions acme::F0, acme::F1, ..., each of which calls the one after it in a
/// branch, and the last of which is the identity; F0 is called.
static SmallModel branches(int length) {
  SmallModel model;
  model.input("x", {2})
      .integers("one", {}, {1})
      .node("Cast", {"one"}, {"yes"})
      .with("to", int(::onnx::TensorProto::BOOL));
  for (int i = 0; i < length; ++i) {
    auto &function = *model.proto().add_functions();
    function.set_domain("acme");
    function.set_name(gradus::message("F", i));
    function.add_input("c");
    function.add_input("v");
    function.add_output("r");
    auto &choice = *function.add_node();
    choice.set_op_type("If");
    choice.add_input("c");
    choice.add_output("r");
    for (bool taken : {true, false}) {
      bool calls = taken && i + 1 < length;
      SmallModel branch;
      if (calls)
        branch.node(gradus::message("F", i + 1).c_str(), {"c", "v"}, {"b"});
      else
        branch.node("Identity", {"v"}, {"b"});
      branch.graph().mutable_node(0)->set_domain(calls ? "acme" : "");
      branch.output("b");
      auto &attribute = *choice.add_attribute();
      attribute.set_name(taken ? "then_branch" : "else_branch");
      attribute.set_type(::onnx::AttributeProto::GRAPH);
      *attribute.mutable_g() = branch.graph();
    }
  }
  model.node("F0", {"yes", "x"}, {"y"}).output("y");
  model.graph().mutable_node()->rbegin()->set_domain("acme");
  return model;
}

TEST(Functions, MayCallOthersInBranches) {
  EXPECT_EQ(evaluate(branches(20), {tensor({2}, {1, -3})}).floats,
            (std::vector<double>{1, -3}));
}

TEST(Functions, MayNotMakeGraphsDeeperThanAFileMayHaveThem) {
  EXPECT_EQ(import(branches(400)).error,
            "its functions, put in place of their calls, make graphs more "
            "than 300 deep in one another");
}

TEST(Functions, HaveDifferentNames) {
  SmallModel model;
  model.input("x", {2});
  addTwice(model);
  addTwice(model, "Mul");
  call(model, "x", "y");
  EXPECT_EQ(import(model.output("y")).error,
            "has two functions called acme::Twice");
}

/// A branch that the call gives uses the names around the call.
TEST(Functions, TakeBranchesFromTheCall) {
  SmallModel model;
  model.input("x", {2});
  auto &function = *model.proto().add_functions();
  function.set_domain("acme");
  function.set_name("Twice");
  function.add_input("condition");
  function.add_output("r");
  function.add_attribute("branch");
  auto &choice = *function.add_node();
  choice.set_op_type("If");
  choice.add_input("condition");
  choice.add_output("r");
  for (const char *key : {"then_branch", "else_branch"}) {
    auto &reference = *choice.add_attribute();
    reference.set_name(key);
    reference.set_ref_attr_name("branch");
    reference.set_type(::onnx::AttributeProto::GRAPH);
  }
  model.integers("one", {}, {1})
      .node("Cast", {"one"}, {"yes"})
      .with("to", int(::onnx::TensorProto::BOOL));
  call(model, "yes", "y");
  SmallModel branch;
  branch.node("Add", {"x", "x"}, {"twice"}).output("twice");
  auto &given = *model.graph().mutable_node()->rbegin()->add_attribute();
  given.set_name("branch");
  given.set_type(::onnx::AttributeProto::GRAPH);
  *given.mutable_g() = branch.graph();
  EXPECT_EQ(evaluate(model.output("y"), {tensor({2}, {1, -3})}).floats,
            (std::vector<double>{2, -6}));
}
