// What torch.export notes of calls: the notes below are its own words.

#include "frontends/onnx/pytorch/aten_call.h"

#include "ir/gradient_ops.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

constexpr const char *kDetach =
    "%detach : [num_users=1] = call_function[target=torch.ops.aten.detach."
    "default](args = (%sub,), kwargs = {})";
constexpr const char *kPadded =
    "%embedding : [num_users=1] = call_function[target=torch.ops.aten."
    "embedding.default](args = (%p_e_weight, %ids, 2), kwargs = {})";

/// A node of this type beside which a call is noted.
static ::onnx::NodeProto noted(const char *type, const std::string &call) {
  ::onnx::NodeProto node;
  node.set_op_type(type);
  auto &entry = *node.add_metadata_props();
  entry.set_key("pkg.torch.onnx.fx_node");
  entry.set_value(call);
  return node;
}

static std::optional<int64_t> paddingOf(const std::string &call,
                                        const char *type = "Gather") {
  ::onnx::NodeProto proto = noted(type, call);
  return gradus::onnx::paddingIndex(gradus::onnx::Node(proto, 0, 20));
}

static bool detaches(const char *type, const std::string &call) {
  ::onnx::NodeProto proto = noted(type, call);
  return gradus::onnx::isDetach(gradus::onnx::Node(proto, 0, 20));
}

static std::string embedding(const std::string &arguments) {
  return "%e : [num_users=1] = call_function[target=torch.ops.aten.embedding."
         "default](" +
         arguments + ")";
}

TEST(AtenCall, SaysThatAnIdentityIsADetach) {
  EXPECT_TRUE(detaches("Identity", kDetach));
  EXPECT_FALSE(detaches("Identity", ""));
  EXPECT_FALSE(detaches("Identity", "%detach : [num_users=1] = call_function["
                                    "target=torch.ops.aten.alias.default]("
                                    "args = (%detach,), kwargs = {})"));
  EXPECT_FALSE(detaches("Cast", kDetach));
}

TEST(AtenCall, SaysWhichRowOfAnEmbeddingIsPadding) {
  EXPECT_EQ(paddingOf(kPadded), 2);
  EXPECT_EQ(paddingOf(embedding("args = (%w, %ids, 0, True), kwargs = {}")), 0);
  EXPECT_EQ(
      paddingOf(embedding("args = (%w, %ids), kwargs = {padding_idx: 7}")), 7);
  EXPECT_FALSE(paddingOf(embedding("args = (%w, %ids), kwargs = {}")));
  EXPECT_FALSE(
      paddingOf(embedding("args = (%w, %ids, -1, True), kwargs = {}")));
  EXPECT_FALSE(paddingOf(""));
  EXPECT_FALSE(paddingOf(kPadded, "Identity"));
}

//===-- what it makes of a model ------------------------------------------===//

/// Notes a call beside the model's last node.
static void note(SmallModel &model, const std::string &call) {
  auto &nodes = *model.graph().mutable_node();
  ::onnx::NodeProto marked = noted("", call);
  *nodes[nodes.size() - 1].mutable_metadata_props() = marked.metadata_props();
}

static int stopsIn(const SmallModel &model) {
  Imported imported = import(model);
  int stops = 0;
  imported.predict().walk([&](StopGradientOp) { ++stops; });
  return stops;
}

TEST(AtenCall, OfADetachStopsGradientsAndNoValues) {
  SmallModel model;
  model.input("x", {2}).floats("w", {2}, {3, 4}).node("Mul", {"x", "w"}, {"p"});
  model.node("Identity", {"p"}, {"y"}).output("y");
  EXPECT_EQ(stopsIn(model), 0);
  note(model, kDetach);
  EXPECT_EQ(stopsIn(model), 1);
  EXPECT_EQ(evaluate(model, {tensor({2}, {1, 2})}).floats,
            (std::vector<double>{3, 8}));
}

TEST(AtenCall, OfADetachedIndexChangesNothing) {
  SmallModel model;
  model.input("x", {2}, ::onnx::TensorProto::INT64);
  model.node("Identity", {"x"}, {"y"}).output("y");
  note(model, kDetach);
  EXPECT_EQ(stopsIn(model), 0);
}

/// Rows of [[1, 2], [3, 4], [5, 6]], of which the last is padding.
static SmallModel table() {
  SmallModel model;
  model.floats("e.weight", {3, 2}, {1, 2, 3, 4, 5, 6});
  return model;
}

TEST(AtenCall, OfAPaddedEmbeddingStopsGradientsAndNoValues) {
  SmallModel model = table();
  model.input("ids", {2, 2}, ::onnx::TensorProto::INT64);
  model.node("Gather", {"e.weight", "ids"}, {"y"}).output("y");
  EXPECT_EQ(stopsIn(model), 0);
  note(model, kPadded);
  EXPECT_EQ(stopsIn(model), 1);
  EXPECT_EQ(
      evaluate(model, {HostTensor{{2, 2}, false, {}, {2, 0, 1, 2}}}).floats,
      (std::vector<double>{5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST(AtenCall, OfAPaddedEmbeddingCountsForKnownIndicesToo) {
  SmallModel model = table();
  model.input("x", {3, 2}).integers("ids", {3}, {0, 1, 2});
  model.node("Gather", {"e.weight", "ids"}, {"rows"});
  note(model, kPadded);
  model.node("Mul", {"x", "rows"}, {"y"}).output("y");
  EXPECT_EQ(stopsIn(model), 1);
}
