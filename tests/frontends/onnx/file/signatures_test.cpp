// A node that is not as ONNX says is refused, never read as another one.

#include "frontends/onnx/file/signatures.h"

#include "tests/frontends/onnx/small_model.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::testing;
using ::onnx::AttributeProto;
using ::testing::HasSubstr;

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

TEST(Signatures, RefuseAnAttributeThatNothingRead) {
  SmallModel model;
  model.input("x", {2, 2}).node("Gemm", {"x", "x"}, {"y"}).with("transB", 0);
  model.withNumber("alpha", 1).withNumber("beta", 2).with("__note", "a tool's");
  gradus::onnx::Node node(model.graph().node(0), 0, 20);
  EXPECT_EQ(gradus::onnx::checkAllRead(node).message(),
            "node \"the Gemm\" (Gemm): its attribute \"beta\" is 2, which is "
            "not supported; expected 1.0, as without it");
  node.number("beta", 1);
  EXPECT_TRUE(gradus::onnx::checkAllRead(node).ok());
}

TEST(Signatures, KnowListsAndTextsThatHoldWithoutTheAttribute) {
  auto unread = [](const char *type, auto value) {
    SmallModel model;
    model.input("x", {2, 2}).node(type, {"x"}, {"y"});
    model.with(type == std::string("Gelu") ? "approximate" : "axes", value);
    return std::string(gradus::onnx::checkAllRead(
                           gradus::onnx::Node(model.graph().node(0), 0, 20))
                           .message());
  };
  EXPECT_EQ(unread("MeanVarianceNormalization", Shape{0, 2, 3}), "");
  EXPECT_THAT(unread("MeanVarianceNormalization", Shape{0, 2}),
              HasSubstr("\"axes\" is [0, 2], which is not supported; expected "
                        "[0, 2, 3], as without it"));
  EXPECT_EQ(unread("Gelu", "none"), "");
  EXPECT_THAT(unread("Gelu", "tanh"),
              HasSubstr("\"approximate\" is \"tanh\", which is not supported; "
                        "expected \"none\", as without it"));
}

// A constant has one value: the import reads the first and meets the other.
TEST(Signatures, RefuseWhatTheImportDidNotRead) {
  SmallModel model;
  model.input("x", {2}).node("Constant", {}, {"c"});
  model.with("value_int", 1).with("value_ints", Shape(10, 3));
  EXPECT_EQ(errorOf(model.node("Identity", {"x"}, {"y"})),
            "node \"the Constant\" (Constant): its attribute \"value_ints\" is "
            "[3, 3, 3, 3, 3, 3, 3, 3, ...], which is not supported; expected a "
            "node without it");
}

TEST(Signatures, CutLongTexts) {
  SmallModel model;
  model.input("x", {2}).node("Constant", {}, {"c"}).with("value_int", 1);
  model.with("value_string", std::string(100, 'a').c_str());
  EXPECT_EQ(
      errorOf(model.node("Identity", {"x"}, {"y"})),
      "node \"the Constant\" (Constant): its attribute \"value_string\" "
      "is \"" +
          std::string(64, 'a') +
          "... (36 more bytes)\", which is not supported; expected a node "
          "without it");
}

TEST(Signatures, TakeAnAxisThatNothingBroadcastsAlong) {
  SmallModel model;
  model.input("x", {2, 4}).node("Add", {"x", "x"}, {"y"}).with("axis", 0);
  EXPECT_EQ(errorOf(model.setOpset(6)), "");
}

// Values for which ONNX says that nothing changes, or leaves open what does.
TEST(Signatures, LetAttributesPassThatChangeNothing) {
  SmallModel scaled;
  scaled.input("x", {2, 4}).floats("scale", {4}, {1, 1, 1, 1});
  const SmallModel models[] = {
      softmax().node("Cast", {"y"}, {"z"}).with("to", 1).with("saturate", 0),
      softmax().node("Dropout", {"y"}, {"z"}).with("seed", 3),
      softmax().node("RandomNormalLike", {"y"}, {"z"}).withNumber("seed", 3),
      softmax()
          .integers("k", {1}, {2})
          .node("TopK", {"y", "k"}, {"z", "i"})
          .with("sorted", 0),
      softmax()
          .integers("flat", {1}, {8})
          .node("Reshape", {"y", "flat"}, {"z"})
          .with("allowzero", 1),
      softmax()
          .integers("axes", {1}, {0})
          .node("ReduceSum", {"y", "axes"}, {"z"})
          .with("noop_with_empty_axes", 1),
      softmax()
          .node("Gemm", {"y", "x"}, {"z"})
          .with("transB", 1)
          .withNumber("beta", 0),
      SmallModel()
          .input("x", {1, 2, 4, 4})
          .node("MaxPool", {"x"}, {"y"})
          .with("kernel_shape", Shape{2, 2})
          .with("storage_order", 1),
      SmallModel()
          .input("x", {1, 2, 4, 4})
          .floats("by", {4}, {1, 1, 2, 2})
          .node("Resize", {"x", "", "by"}, {"y"})
          .with("keep_aspect_ratio_policy", "not_larger")
          .withNumber("extrapolation_value", 3),
      scaled.node("LayerNormalization", {"x", "scale"}, {"y"})
          .with("stash_type", int(::onnx::TensorProto::FLOAT)),
  };
  for (const SmallModel &model : models)
    EXPECT_EQ(errorOf(model), "");
}

TEST(Signatures, RefuseOtherPrecisionThanOurs) {
  SmallModel model;
  model.input("x", {2, 4}).floats("scale", {4}, {1, 1, 1, 1});
  model.node("LayerNormalization", {"x", "scale"}, {"y"})
      .with("stash_type", int(::onnx::TensorProto::DOUBLE));
  EXPECT_EQ(errorOf(model),
            "node \"the LayerNormalization\" (LayerNormalization): its "
            "attribute \"stash_type\" is 11 (DOUBLE), expected 1 (FLOAT), in "
            "which it is computed");
}

TEST(Signatures, RefuseAnotherNumberOfPartsThanOutputs) {
  SmallModel model;
  model.input("x", {2, 4}).node("Split", {"x"}, {"y", "z"});
  EXPECT_EQ(
      errorOf(model.with("num_outputs", 3)),
      "node \"the Split\" (Split): num_outputs is 3, but it has 2 outputs");
}
