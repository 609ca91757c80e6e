// A node that is not as ONNX says is refused, never read as another one.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using ::onnx::AttributeProto;

namespace {

SmallModel softmax() {
  SmallModel model;
  model.input("x", {2, 4}).node("Softmax", {"x"}, {"y"});
  return model;
}

/// Of an older file, whose attributes have no type.
std::string untyped(SmallModel model) { return errorOf(model); }

std::string typed(SmallModel model, AttributeProto::AttributeType type) {
  model.graph().mutable_node(0)->mutable_attribute(0)->set_type(type);
  return errorOf(model);
}

} // namespace

TEST(Signatures, RefuseAnAttributeOfAnotherType) {
  const std::string place = "node \"the Softmax\" (Softmax): its attribute "
                            "\"axis\" is ",
                    expected = ", expected a whole number; ONNX's own "
                               "checker refuses it, too";
  EXPECT_EQ(untyped(softmax().with("axis", "str")),
            place + "a text" + expected);
  EXPECT_EQ(untyped(softmax().withNumber("axis", 1.5)),
            place + "a number" + expected);
  EXPECT_EQ(untyped(softmax().with("axis", Shape{1, 2})),
            place + "a list of whole numbers" + expected);
  EXPECT_EQ(typed(softmax().with("axis", 1), AttributeProto::STRING),
            place + "a text" + expected);
  EXPECT_EQ(untyped(softmax().with("axis", 1)), "");
  EXPECT_EQ(typed(softmax().with("axis", 1), AttributeProto::INT), "");
}

// In opset 13 the axes became an input; nobody would read the attribute.
TEST(Signatures, AreThoseOfTheModelsOpset) {
  SmallModel model;
  model.input("x", {1, 2}).node("Squeeze", {"x"}, {"y"}).with("axes", "0");
  EXPECT_EQ(errorOf(model), "node \"the Squeeze\" (Squeeze): its attribute "
                            "\"axes\" is of older opsets alone; the model is "
                            "of opset 20; ONNX's own checker refuses it, too");
  EXPECT_EQ(errorOf(model.setOpset(11)),
            "node \"the Squeeze\" (Squeeze): its attribute \"axes\" is a text, "
            "expected a list of whole numbers; ONNX's own checker refuses it, "
            "too");
}

// Tools leave notes on nodes in names that ONNX keeps for such.
TEST(Signatures, SkipAttributesOfTools) {
  EXPECT_EQ(errorOf(softmax().with("__note", "of a tool")), "");
  EXPECT_EQ(errorOf(softmax().with("_note", "of a tool")),
            "node \"the Softmax\" (Softmax): its attribute \"_note\" is none "
            "of Softmax; the model is of opset 20; ONNX's own checker refuses "
            "it, too");
}

TEST(Signatures, RefuseInputsAndOutputsThatTheOpDoesNotHave) {
  SmallModel model;
  model.input("x", {2, 2}).node("MatMul", {"x", "x", "x", "x", "x"}, {"y"});
  EXPECT_EQ(errorOf(model),
            "node \"the MatMul\" (MatMul): has 5 inputs; MatMul "
            "of opset 20 has at most 2; ONNX's own checker "
            "refuses it, too");
  SmallModel two;
  two.input("x", {2, 2}).node("Relu", {"x"}, {"y", "z"});
  EXPECT_EQ(errorOf(two), "node \"the Relu\" (Relu): has 2 outputs; Relu of "
                          "opset 20 has at most 1; ONNX's own checker "
                          "refuses it, too");
}

TEST(Signatures, LetOpsOfAnyNumberOfInputsHaveThem) {
  SmallModel model;
  model.input("x", {2})
      .node("Concat", std::vector<std::string>(40, "x"), {"y"})
      .with("axis", 0);
  EXPECT_EQ(errorOf(model), "");
}
