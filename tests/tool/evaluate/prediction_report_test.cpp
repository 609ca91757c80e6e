// Which predictions are compared with which labels.

#include "tests/tool/adder.h"
#include "tool/evaluate/prediction_report.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::artifact;

namespace gradus::cli {
namespace {

void addInput(test::TestArtifact &artifact, size_t graph, const char *name,
              DType dtype, std::vector<int64_t> shape, uint64_t bytes) {
  TensorTypeT type;
  type.dtype = dtype;
  type.shape = std::move(shape);
  PortT port;
  port.name = name;
  port.type = std::make_unique<TensorTypeT>(type);
  BufferT buffer;
  buffer.region = Region::arena;
  buffer.offset = artifact.plan().arena_bytes;
  buffer.size = bytes;
  buffer.type = std::make_unique<TensorTypeT>(type);
  artifact.header.graphs[graph]->inputs.push_back(
      std::make_unique<PortT>(std::move(port)));
  artifact.plan().graphs[graph]->inputs.push_back(
      artifact.plan().buffers.size());
  artifact.plan().arena_bytes += 64;
  artifact.plan().buffers.push_back(
      std::make_unique<BufferT>(std::move(buffer)));
}

/// `predict` (which was `evaluate`) gives 1x2x4 floats, 0, 1, ... 7, and
/// `evaluate` (which was `train`) takes two labels.
test::TestArtifact classifier(const char *recipe) {
  test::TestArtifact artifact;
  artifact.header.recipe = recipe;
  artifact.header.graphs[0]->name = "evaluate";
  artifact.header.graphs[1]->name = "predict";
  auto &output = *artifact.header.graphs[1]->outputs[0]->type;
  output.shape = {1, 2, 4};
  artifact.header.graphs[0]->outputs[0]->type->shape = {1, 2, 4};
  artifact.plan().buffers[test::kSum]->type->shape = {1, 2, 4};
  addInput(artifact, 0, "label", DType::i64, {1, 2}, 16);
  return artifact;
}

TEST(PredictionReport, ComparesLabelsOfTheShapeOfTheOutput) {
  // Without a word of the recipe the labels' shape tells the axis.
  for (const char *recipe : {R"({"loss": {"class_axis": -1}})",
                             R"({"loss": {"class_axis": null}})"}) {
    Adder adder(classifier(recipe));
    auto session = adder.open();
    PredictionReport report(*session, session->findGraph("evaluate"));
    const std::vector<int64_t> labels = {3, 0};
    const std::vector<const void *> inputs = {nullptr, labels.data()};
    report.add(inputs, 1);
    EXPECT_EQ(report.json()["confusion"][3][3], 1) << recipe;
    EXPECT_EQ(report.json()["confusion"][0][3], 1) << recipe;
  }
}

// It would read four labels, and there are two.
TEST(PredictionReport, PassesOverAnAxisThatTheLabelsDoNotGoWith) {
  Adder adder(classifier(R"({"loss": {"class_axis": 1}})"));
  auto session = adder.open();
  PredictionReport report(*session, session->findGraph("evaluate"));
  EXPECT_TRUE(report.json().empty());
}

// The output is 0, 1, ... 7 in two rows of four scores.
TEST(PredictionReport, KeepsTheWorstByTheirCrossEntropy) {
  Adder adder(classifier(R"({"loss": {"class_axis": -1}})"));
  auto session = adder.open();
  PredictionReport report(*session, session->findGraph("evaluate"));
  EXPECT_TRUE(report.worstJson().is_null());
  report.keepWorst(2);
  double all = std::log(std::exp(-3.0) + std::exp(-2.0) + std::exp(-1.0) + 1);
  for (int64_t label : {3, 0, 1}) { // Of each row its greatest score is 3's.
    const std::vector<int64_t> labels = {label, label};
    const std::vector<const void *> inputs = {nullptr, labels.data()};
    report.add(inputs, 1);
  }
  auto worst = report.worstJson();
  EXPECT_EQ(worst["by"], "cross entropy");
  ASSERT_EQ(worst["samples"].size(), 2u);
  EXPECT_EQ(worst["samples"][0]["sample"], 1);
  EXPECT_NEAR(worst["samples"][0]["loss"], 3 + all, 1e-6);
  EXPECT_NEAR(worst["samples"][1]["loss"], 2 + all, 1e-6);
  EXPECT_EQ(report.scoresJson()[0]["kind"], "classes");
  EXPECT_EQ(report.scoresJson()[0]["confusion"][3][3], 2);
}

} // namespace
} // namespace gradus::cli
