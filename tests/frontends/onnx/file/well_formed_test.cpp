// Models that no node of theirs can be blamed for.

#include "frontends/onnx/file/well_formed.h"
#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

SmallModel relu() {
  SmallModel model;
  model.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

} // namespace

TEST(WellFormed, IsTheNewestOpset) {
  EXPECT_EQ(import(relu().setOpset(gradus::onnx::kNewestOpset)).error, "");
}

TEST(WellFormed, IsNoModelWithoutAnOpset) {
  SmallModel model = relu();
  model.proto().clear_opset_import();
  EXPECT_EQ(import(model).error,
            "says no opset (opset_import), so that nobody knows what its nodes "
            "mean; ONNX's own checker refuses it, too");
}

// What has nodes of other domains alone needs none of the default one.
TEST(WellFormed, MayNameOtherOpsetsAlone) {
  SmallModel model;
  model.input("x", {2}).node("Magic", {"x"}, {"y"}).output("y");
  model.graph().mutable_node(0)->set_domain("acme");
  model.proto().clear_opset_import();
  model.proto().add_opset_import()->set_domain("acme");
  EXPECT_EQ(import(model).error, "uses what is not supported:\n"
                                 "  acme::Magic (opset 0); node \"the Magic\"");
}

TEST(WellFormed, IsAnInitializerThatIsDeclaredAsAnInputAsItIs) {
  auto declared = [](const Shape &shape, int type) {
    SmallModel model;
    model.input("x", {2}).input("w", shape, type).floats("w", {2}, {1, 2});
    return import(model.node("Add", {"x", "w"}, {"y"}).output("y")).error;
  };
  EXPECT_EQ(declared({2}, ::onnx::TensorProto::FLOAT), "");
  EXPECT_EQ(declared({-1}, ::onnx::TensorProto::FLOAT), "");
  EXPECT_EQ(declared({9, 9}, ::onnx::TensorProto::FLOAT),
            "declares its input \"w\" as [9, 9] of FLOAT, but the initializer "
            "of that name is [2] of FLOAT");
  EXPECT_EQ(declared({2}, ::onnx::TensorProto::INT64),
            "declares its input \"w\" as [2] of INT64, but the initializer of "
            "that name is [2] of FLOAT");
}

TEST(WellFormed, IsNoOpsetFromTheFuture) {
  EXPECT_EQ(import(relu().setOpset(99)).error,
            "is of opset 99; the newest that is known is 28. Export it with "
            "opset_version=28 or less");
}

TEST(WellFormed, IsNoValueOfTwoNodes) {
  EXPECT_EQ(import(relu().node("Tanh", {"x"}, {"y"})).error,
            "gives the value \"y\" twice: by node \"the Relu\" (Relu) and by "
            "node \"the Tanh\" (Tanh)");
}

TEST(WellFormed, IsNoNodeThatGivesAnInput) {
  EXPECT_EQ(import(relu().node("Tanh", {"y"}, {"x"})).error,
            "gives the value \"x\" twice: by an input and by node \"the Tanh\" "
            "(Tanh)");
}

// Outputs that are left out have no name.
TEST(WellFormed, AreOutputsThatAreLeftOut) {
  SmallModel model;
  model.input("x", {2, 3, 4})
      .node("Dropout", {"x"}, {"a", ""})
      .node("Dropout", {"a"}, {"y", ""})
      .output("y");
  EXPECT_EQ(import(model).error, "");
}
