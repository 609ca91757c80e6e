// Which predictions are compared with which labels.

#include "tests/tool/adder.h"
#include "tool/evaluate/prediction_report.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace gradus::cli
