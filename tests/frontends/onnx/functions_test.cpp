// A model's own functions are put in place of their calls.

#include "small_model.h"

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
            "function acme::Twice calls itself without end");
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
