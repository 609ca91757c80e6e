// A model's parameters are listed without importing it.

#include "frontends/onnx/inventory.h"

#include <gtest/gtest.h>

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
