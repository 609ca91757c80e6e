// Recorded cases say in Gradus' words what their case.json says.

#include "tests/this_build.h"
#include "tool/check/recorded_case.h"

#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace gradus::check {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = GRADUS_SOURCE_DIR "/tests/data/models";

/// A case of one line of JSON.
struct Written {
  explicit Written(const std::string &json) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    std::ofstream(folder / "case.json") << json;
  }
  ~Written() { fs::remove_all(folder); }
  fs::path folder = fs::temp_directory_path() /
                    ("gradus_recorded_case_test." + std::to_string(getpid()));
};

TEST(RecordedCase, FindsCasesBelowAFolder) {
  EXPECT_EQ(findCases(kModels / "mlp").size(), 1u);
  EXPECT_GE(findCases(kModels).size(), 3u);
  EXPECT_TRUE(findCases(GRADUS_SOURCE_DIR "/docs/reference").empty());
}

TEST(RecordedCase, TranslatesARunToARecipe) {
  auto recorded = RecordedCase::open(kModels / "mlp");
  ASSERT_TRUE(recorded.ok());
  Json recipe = Json::parse(
      recorded->recipe("model_dynshape.onnx", recorded->run("adamw")));
  EXPECT_EQ(recipe["optimizer"]["learning_rate"], 0.02);
  EXPECT_EQ(recipe["loss"]["output"], "logits");
  EXPECT_EQ(recipe["inputs"]["dims"]["batch"], 16);
  EXPECT_EQ(recipe["trainable"].size(), 6u);
}

TEST(RecordedCase, HasTensorsByBatch) {
  auto recorded = RecordedCase::open(kModels / "mlp");
  ASSERT_TRUE(recorded.ok());
  EXPECT_EQ(recorded->input("input", 1).name, "input.input.1");
  EXPECT_EQ(recorded->input("label", 0).name, "labels.0");
  EXPECT_THROW(recorded->input("image", 0), std::runtime_error);
  EXPECT_EQ(toDoubles(*recorded->expected("logits0")).size(), 160u);
}

TEST(RecordedCase, KnowsParametersByTheirPlaceInAFile) {
  Written one(R"json({"files": [{"file": "m.onnx",
      "parameter_aliases": {"wte": ["head", "transposed"]},
      "trainable_initializers": ["head", "bias"]}]})json");
  auto recorded = RecordedCase::open(one.folder);
  ASSERT_TRUE(recorded.ok());
  EXPECT_EQ(recorded->aliasOf("m.onnx", "wte")->initializer, "head");
  EXPECT_EQ(recorded->aliasOf("m.onnx", "wte")->relation, "transposed");
  EXPECT_EQ(recorded->aliasOf("m.onnx", "bias")->initializer, "bias");
  // Packed with others: nothing to compare with.
  EXPECT_FALSE(recorded->aliasOf("m.onnx", "lstm.weight_ih_l0"));
}

TEST(RecordedCase, SaysWhichFileIsMissing) {
  Written one(R"json({"files": [{"file": "m.onnx",
      "external_data": "weights.bin (not shipped)"}]})json");
  std::ofstream(one.folder / "m.onnx") << "x";
  auto recorded = RecordedCase::open(one.folder);
  ASSERT_TRUE(recorded.ok());
  EXPECT_EQ(recorded->missing("m.onnx"), "data.safetensors");
  std::ofstream(one.folder / "data.safetensors") << "x";
  EXPECT_EQ(recorded->missing("m.onnx"), "weights.bin");
}

TEST(RecordedCase, RefusesWhatIsNone) {
  EXPECT_EQ(RecordedCase::open("/nonexistent").status().message(),
            "/nonexistent/case.json: there is no such file");
  Written one("[");
  EXPECT_NE(RecordedCase::open(one.folder)
                .status()
                .message()
                .find("case.json: is no JSON object"),
            std::string::npos);
}

} // namespace
} // namespace gradus::check
