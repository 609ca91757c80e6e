// A model's parameters are listed without importing it.

#include "frontends/onnx/inventory.h"
#include "tests/this_build.h"

#include "small_model.h"

using namespace gradus;

static ModelInventory inventory(const std::string &path,
                                const ImportOptions &options = {}) {
  auto result =
      inventoryOfOnnx(GRADUS_SOURCE_DIR "/tests/data/" + path, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

TEST(Inventory, TellsParametersFromStatistics) {
  ModelInventory found = inventory("exports/norm_whole.onnx");
  EXPECT_EQ(found.parameters.size(), 9u);
  EXPECT_EQ(found.parameters[0], "conv1.weight 4x3x3x3xf32");
  EXPECT_EQ(found.fixed, (std::vector<std::string>{"bn1.running_mean 4xf32",
                                                   "bn1.running_var 4xf32",
                                                   "bn2.running_mean 4xf32",
                                                   "bn2.running_var 4xf32"}));
  EXPECT_TRUE(found.missing.empty());
  EXPECT_TRUE(found.warnings.empty());
}

TEST(Inventory, FollowsPatterns) {
  ImportOptions options;
  options.fixed = {"*.bias"};
  ModelInventory found = inventory("exports/two_heads.onnx", options);
  EXPECT_EQ(found.parameters.size(), 3u);
  EXPECT_EQ(found.fixed.size(), 3u);
}

TEST(Inventory, NamesMissingFilesAndWhatTheExporterTook) {
  ModelInventory found = inventory("models/resnet18-cifar/model.onnx");
  ASSERT_EQ(found.missing.size(), 1u);
  EXPECT_EQ(found.missing[0].find("weights.bin: 102 tensors (conv1.weight, "),
            0u)
      << found.missing[0];
  EXPECT_EQ(inventory("exports/norm_default.onnx").warnings.size(), 1u);
}

/// A dense layer that stands in both branches of an If.
static ::onnx::ModelProto branched() {
  gradus::testing::SmallModel model, branch;
  branch.floats("inner.weight", {3, 2}, std::vector<float>(6, 1))
      .node("MatMul", {"x", "inner.weight"}, {"z"})
      .output("z");
  model.input("x", {1, 3})
      .floats("outer.bias", {2}, {1, 2})
      .node("If", {"condition"}, {"a"})
      .node("Add", {"a", "outer.bias"}, {"y"})
      .output("y");
  auto &attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = branch.graph();
  return model.proto();
}

TEST(Inventory, ListsWhatBranchesHold) {
  std::string path = gradus::testing::temporaryFolder() + "branched.onnx";
  std::ofstream(path, std::ios::binary) << branched().SerializeAsString();
  auto found = inventoryOfOnnx(path, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(
      found->parameters,
      (std::vector<std::string>{"outer.bias 2xf32", "inner.weight 3x2xf32"}));
}

TEST(Inventory, KnowsModelsWithoutSizes) {
  gradus::testing::SmallModel model;
  model.input("x", {-1, 3})
      .floats("w", {3, 2}, std::vector<float>(6, 1))
      .node("MatMul", {"x", "w"}, {"a"})
      .node("Magic", {"a"}, {"y"})
      .output("y");
  std::string path = model.write("open.onnx");
  auto found = inventoryOfOnnx(path, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->unknownSizes, std::vector<std::string>{"x.0"});
  EXPECT_EQ(found->inputs, std::vector<std::string>{"x x.0x3xf32"});
  EXPECT_EQ(found->parameterElements, 6);
  EXPECT_EQ(found->unsupported, path +
                                    ": uses what is not supported:\n"
                                    "  Magic (opset 20); node \"the Magic\"");
  ImportOptions options;
  options.dims["x.0"] = 4;
  EXPECT_TRUE(inventoryOfOnnx(path, options)->unknownSizes.empty());
}

TEST(Inventory, SaysWithoutSizesThatADataFileIsCut) {
  gradus::testing::SmallModel model;
  model.input("x", {-1, 3})
      .floats("w", {3, 2}, std::vector<float>(6, 1))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y");
  auto &w = *model.graph().mutable_initializer(0);
  w.clear_float_data();
  w.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto &entry = *w.add_external_data();
  entry.set_key("location");
  entry.set_value("cut.bin");
  std::string path = model.write("cut.onnx");
  std::ofstream(path.substr(0, path.size() - 8) + "cut.bin") << "four";
  auto found = inventoryOfOnnx(path, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->unsupported, path + ": tensor \"w\": ends at byte 24 of "
                                       "\"cut.bin\", which has 4");
}
