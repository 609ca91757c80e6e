// What decides how data reach graphs, as a session and as a text say it.

#include "training/artifact_outline.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::training;
using testing::HasSubstr;

namespace {

const char *const kOutline = R"({"path": "net.gradus", "classes": 4,
  "recipe": {"loss": {"type": "softmax_cross_entropy", "class_axis": 1,
                      "ignore_index": -1}},
  "graphs": [{"name": "train",
              "inputs": [["x", "f32", [8, 2], 0], ["label", "i64", [8], 0]],
              "outputs": [["loss", "f32", [], 0]]},
             {"name": "predict", "inputs": [["x", "f32", [8, 2], 5]],
              "outputs": [["logits", "f32", [8, 3], 0]]}]})";

} // namespace

TEST(ArtifactOutline, IsReadFromText) {
  auto outline = ArtifactOutline::parse(kOutline);
  ASSERT_TRUE(outline.ok()) << outline.status();
  EXPECT_EQ(outline->path, "net.gradus");
  EXPECT_EQ(outline->classes, 4);
  ASSERT_NE(outline->find("predict"), nullptr);
  EXPECT_EQ(outline->find("evaluate"), nullptr);
  const runtime::TensorInfo &x = outline->find("predict")->inputs[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(toString(x.type), "8x2xf32");
  EXPECT_EQ(x.bytes, 64u);
  EXPECT_EQ(x.indices, 5);
}

TEST(ArtifactOutline, SaysWhichLabelsThereAre) {
  auto outline = ArtifactOutline::parse(kOutline);
  ASSERT_TRUE(outline.ok()) << outline.status();
  data::LabelRule rule = labelRules(*outline).at("label");
  EXPECT_EQ(rule.classes, 3) << "of the output's axis";
  EXPECT_EQ(rule.ignore, -1);
  outline->recipe = nlohmann::json::object();
  EXPECT_EQ(labelRules(*outline).at("label").classes, 4) << "of the artifact";
}

TEST(ArtifactOutline, OnlyALossThatSumsIsOneOverAllSamples) {
  auto recipe = [](const char *text) { return nlohmann::json::parse(text); };
  EXPECT_FALSE(lossIsTotal(recipe("{}")));
  EXPECT_TRUE(lossIsTotal(recipe(R"({"loss": {"reduction": "sum"}})")));
  EXPECT_FALSE(lossIsTotal(recipe(
      R"({"loss": {"of": [{"reduction": "sum"}, {"reduction": "mean"}]}})")));
}

TEST(ArtifactOutline, RefusesWhatIsOfAnotherForm) {
  for (auto [text, words] :
       {std::pair("no JSON", "the outline of an artifact: "),
        std::pair(R"({"path": "a", "recipe": [], "classes": 0})",
                  "its recipe is no object"),
        std::pair(R"({"path": "a", "recipe": {}, "classes": 0})",
                  "key 'graphs' not found"),
        std::pair(R"({"path": "a", "recipe": {}, "classes": 0, "graphs":
                      [{"name": "train", "inputs": [["x", "f31", [2], 0]]}]})",
                  "'f31' is no type of elements"),
        std::pair(R"({"path": "a", "recipe": {}, "classes": 0, "graphs":
                      [{"name": "train", "inputs": [["x", "f32", [-2], 0]]}]})",
                  "'x' is of no size")})
    EXPECT_THAT(ArtifactOutline::parse(text).status().message(),
                HasSubstr(words));
}
