// A model that normalizes by itself gives for raw values what the bare one
// gives for normalized ones.

#include "frontends/onnx/export/export_normalization.h"

#include "exported.h"
#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// y = x + w, where a branch uses x as well.
SmallModel sum(const Shape &shape, int type = ::onnx::TensorProto::FLOAT) {
  SmallModel model, branch;
  branch.node("Add", {"x", "w"}, {"s"}).output("s");
  model.input("x", shape, type)
      .floats("w", {1}, {10})
      .integers("number", {}, {1})
      .node("Cast", {"number"}, {"condition"})
      .with("to", int(::onnx::TensorProto::BOOL))
      .node("If", {"condition"}, {"y"});
  for (const char *key : {"then_branch", "else_branch"}) {
    auto &attribute = *model.graph().mutable_node(1)->add_attribute();
    attribute.set_name(key);
    *attribute.mutable_g() = branch.graph();
  }
  return model.output("y");
}

absl::StatusOr<ExportedOnnx> normalizing(const SmallModel &model,
                                         std::vector<float> mean,
                                         std::vector<float> std,
                                         bool isInside = true) {
  static const std::vector<float> ten = {10};
  ExportOptions options;
  options.normalizations = {{"x", std::move(mean), std::move(std)},
                            {"label", {1}, {2}}};
  options.withNormalization = isInside;
  auto *bytes = reinterpret_cast<const uint8_t *>(ten.data());
  return exportOnnx(model.write(), {{"w", "f32", {1}, {bytes, 4}}}, options);
}

std::vector<double> outputsOf(const ExportedOnnx &exported,
                              const HostTensor &input) {
  std::string path = temporaryFolder() + "normalized.onnx";
  std::ofstream(path, std::ios::binary) << exported.model;
  Imported model = import(path);
  return evaluate(model, {input}).at(0).floats;
}

} // namespace

TEST(ExportNormalization, IsDoneBeforeWhateverUsesTheInput) {
  auto exported = normalizing(sum({1, 4}), {1}, {2});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(outputsOf(*exported, tensor({1, 4}, {1, 3, 5, -1})),
            (std::vector<double>{10, 11, 12, 9}));
  EXPECT_EQ(exported->wantNormalized, std::vector<std::string>());
}

TEST(ExportNormalization, HasANumberForEachChannel) {
  auto exported = normalizing(sum({1, 2, 1, 2}), {1, 5}, {2, 4});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(outputsOf(*exported, tensor({1, 2, 1, 2}, {1, 3, 5, 9})),
            (std::vector<double>{10, 11, 10, 11}));
}

TEST(ExportNormalization, TakesNamesThatNothingHas) {
  SmallModel model = sum({1, 4});
  model.floats("x/mean", {1}, {7});
  auto exported = normalizing(model, {1}, {2});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(outputsOf(*exported, tensor({1, 4}, {1, 3, 5, -1})),
            (std::vector<double>{10, 11, 12, 9}));
}

TEST(ExportNormalization, IsToldWhereItStaysOutside) {
  auto exported = normalizing(sum({1, 4}), {1}, {2}, /*isInside=*/false);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->wantNormalized, std::vector<std::string>{"x"});
  EXPECT_EQ(outputsOf(*exported, tensor({1, 4}, {1, 3, 5, -1})),
            (std::vector<double>{11, 13, 15, 9}));
}

TEST(ExportNormalization, RefusesWhatItDoesNotFit) {
  auto wordsOf = [](const SmallModel &model, std::vector<float> mean) {
    std::string words(
        normalizing(model, std::move(mean), {1}).status().message());
    return words.substr(words.find(": ") + 2);
  };
  EXPECT_EQ(wordsOf(sum({1, 4}), {1, 2, 3}),
            "its input \"x\" has not the 3 channels that training normalized");
  EXPECT_EQ(wordsOf(sum({1, 4}, ::onnx::TensorProto::INT64), {1}),
            "its input \"x\" is INT64; only FLOAT is normalized");
  EXPECT_EQ(wordsOf(sum({1, 4}).setOpset(6), {1}),
            "is of opset 6, in which a normalization cannot be written; "
            "expected 7 or later");
}
