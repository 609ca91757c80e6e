// Only the values of initializers change.

#include "exported.h"
#include "frontends/onnx/file/model_file.h"
#include "tests/frontends/onnx/small_model.h"
#include "tests/this_build.h"

#include <cstring>

using namespace gradus;
using namespace gradus::testing;

namespace {

const std::string kHeads =
    GRADUS_SOURCE_DIR "/tests/data/exports/two_heads.onnx";

/// A tensor of floats that count up.
struct Values {
  Values(std::string name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    for (int64_t i = 0; i < count; ++i)
      floats.push_back(i);
    tensor = {
        std::move(name),
        "f32",
        std::move(shape),
        {reinterpret_cast<const uint8_t *>(floats.data()), 4 * floats.size()}};
  }
  std::vector<float> floats;
  TrainedTensor tensor;
};

TEST(Export, ChangesTheValuesOfInitializersAlone) {
  Values bias("body.bias", {4}), slot("adamw/first_moment/body.bias", {4});
  auto exported = exportOnnx(kHeads, {bias.tensor, slot.tensor});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->written, std::vector<std::string>{"body.bias"});
  EXPECT_EQ(exported->kept.size(), 5u);
  EXPECT_EQ(exported->data, "");
  ::onnx::ModelProto before = read(kHeads), after = parsed(*exported);
  for (auto &tensor : *after.mutable_graph()->mutable_initializer())
    if (tensor.name() == "body.bias")
      EXPECT_EQ(std::memcmp(tensor.raw_data().data(), bias.floats.data(), 16),
                0);
  before.mutable_graph()->clear_initializer();
  after.mutable_graph()->clear_initializer();
  EXPECT_EQ(before.SerializeAsString(), after.SerializeAsString());
}

TEST(Export, KeepsStatisticsThatThePyTorchFileHadMergedApart) {
  Values mean("norm.running_mean", {4});
  auto exported =
      exportOnnx(GRADUS_SOURCE_DIR "/tests/data/exports/fresh_norm_script.onnx",
                 {mean.tensor});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->written, std::vector<std::string>{"norm.running_mean"});
  ::onnx::ModelProto after = parsed(*exported);
  for (const auto &tensor : after.graph().initializer())
    if (tensor.name() == "norm.running_mean" || tensor.name() == "norm.bias")
      EXPECT_EQ(std::memcmp(tensor.raw_data().data(), mean.floats.data(), 16) ==
                    0,
                tensor.name() == "norm.running_mean");
  for (const auto &node : after.graph().node())
    EXPECT_NE(node.op_type(), "Identity");
}

TEST(Export, GivesSymbolicDimensionsTheirSizes) {
  Values bias("fc3.bias", {10});
  ExportOptions options;
  options.dims = {{"batch", 8}, {"other", 9}};
  auto exported =
      exportOnnx(GRADUS_SOURCE_DIR "/docs/examples/digits/lenet.onnx",
                 {bias.tensor}, options);
  ASSERT_TRUE(exported.ok()) << exported.status();
  const auto shape =
      parsed(*exported).graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_value(), 8);
  EXPECT_EQ(shape.dim(1).dim_value(), 1);
}

TEST(Export, RefusesWhatDoesNotFit) {
  Values wrong("body.weight", {6, 4}), other("tail", {1});
  EXPECT_EQ(exportOnnx(kHeads, {wrong.tensor}).status().message(),
            kHeads +
                ": \"body.weight\" is [6, 4] of f32; the model's is [4, 6] "
                "of f32");
  EXPECT_EQ(exportOnnx(kHeads, {other.tensor}).status().message(),
            kHeads + ": none of the 1 trained tensors is an initializer of the "
                     "model");
}

/// Returns the reason why trained tensors do not go into a model.
std::string errorOf(const SmallModel &model, const std::vector<Values> &values,
                    bool inference = false) {
  std::vector<TrainedTensor> trained;
  for (const Values &each : values) {
    trained.push_back(each.tensor);
    trained.back().bytes = {
        reinterpret_cast<const uint8_t *>(each.floats.data()),
        sizeof(float) * each.floats.size()};
  }
  ExportOptions options;
  options.inference = inference;
  std::string path = model.write();
  auto exported = exportOnnx(path, trained, options);
  if (exported.ok())
    return "";
  std::string text(exported.status().message());
  EXPECT_TRUE(text.starts_with(path + ": ")) << text;
  return text.substr(std::min(text.size(), path.size() + 2));
}

constexpr const char *kFromArtifact =
    "gradus export STEP.gradus --checkpoint FILE.safetensors -o FILE.onnx";

/// A batch normalization behind a dense layer.
SmallModel normalized() {
  SmallModel model;
  model.input("x", {2, 3})
      .floats("fc.weight", {3, 3}, std::vector<float>(9, 1));
  for (const char *name : {"bn.weight", "bn.bias", "bn.mean", "bn.variance"})
    model.floats(name, {3}, {1, 1, 1});
  model.node("MatMul", {"x", "fc.weight"}, {"h"})
      .node("BatchNormalization",
            {"h", "bn.weight", "bn.bias", "bn.mean", "bn.variance"}, {"y"});
  return model.output("y");
}

TEST(Export, RefusesTheFileOfAModelThatLessBnChanged) {
  Values weight("fc.weight", {3, 3}), step("step", {}), mean("bn.mean", {3});
  EXPECT_EQ(errorOf(normalized(), {weight, step}),
            std::string(
                "is not the model that was trained: the checkpoint has no "
                "state of the batch normalization of \"bn.weight\", as less_bn "
                "leaves it; its artifact carries the changed model: ") +
                kFromArtifact);
  EXPECT_EQ(errorOf(normalized(), {weight, step, mean}), "");
  EXPECT_EQ(errorOf(normalized(), {weight}), "")
      << "weights of elsewhere may be a part of all";
}

TEST(Export, RefusesTheFileOfAModelThatFcToFnChanged) {
  Values weight("fc.weight", {3, 3}), mean("bn.mean", {3}),
      multiplier("fc.multiplier", {1}), other("other.multiplier", {1});
  EXPECT_EQ(errorOf(normalized(), {weight, mean, multiplier}),
            std::string("is not the model that was trained: the checkpoint has "
                        "\"fc.multiplier\", which fc_to_fn adds to a layer; "
                        "its artifact carries the changed model: ") +
                kFromArtifact);
  EXPECT_EQ(errorOf(normalized(), {weight, mean, other}), "");
  SmallModel own = normalized();
  own.floats("fc.multiplier", {1}, {1});
  EXPECT_EQ(errorOf(own, {weight, mean, multiplier,
                          Values("sgd/momentum/fc.multiplier", {1})}),
            "");
}

/// A file does not say which of its random numbers are masks of dropout.
TEST(Export, RefusesTheInferenceFormOfAFileThatDraws) {
  SmallModel model = normalized();
  model.node("RandomNormalLike", {"y"}, {"noise"}).output("noise");
  Values weight("fc.weight", {3, 3});
  EXPECT_EQ(errorOf(model, {weight}), "");
  std::string error = errorOf(model, {weight}, /*inference=*/true);
  EXPECT_TRUE(error.starts_with(
      "draws random numbers (RandomNormalLike \"the RandomNormalLike\")"))
      << error;
  EXPECT_TRUE(error.ends_with(kFromArtifact)) << error;
}

TEST(Export, PutsLargeModelsBesideTheirData) {
  Values weight("fc1.weight", {120, 400});
  ExportOptions options;
  options.largestInside = 1000;
  options.dataName = "trained.onnx.data";
  auto exported =
      exportOnnx(GRADUS_SOURCE_DIR "/docs/examples/digits/lenet.onnx",
                 {weight.tensor}, options);
  ASSERT_TRUE(exported.ok()) << exported.status();
  ::onnx::ModelProto model = parsed(*exported);
  for (const auto &tensor : model.graph().initializer())
    if (tensor.name() == "fc1.weight") {
      ASSERT_EQ(tensor.external_data_size(), 3);
      EXPECT_EQ(tensor.external_data(0).value(), "trained.onnx.data");
      EXPECT_EQ(std::memcmp(exported->data.data() +
                                std::stoul(tensor.external_data(1).value()),
                            weight.floats.data(), weight.tensor.bytes.size()),
                0);
    }
}

TEST(Export, NamesTheDataFilesThatTheModelHas) {
  auto resnet = gradus::onnx::ModelFile::open(
      GRADUS_SOURCE_DIR "/tests/data/models/resnet18-cifar/model.onnx");
  ASSERT_TRUE(resnet.ok()) << resnet.status();
  EXPECT_EQ((*resnet)->dataFiles(),
            std::vector<std::string>{
                GRADUS_SOURCE_DIR
                "/tests/data/models/resnet18-cifar/weights.bin"});
  auto whole = exportOnnx(kHeads, {Values("body.weight", {4, 6}).tensor});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(whole->read.empty());
}

TEST(Export, MakesInferenceOfTraining) {
  ExportOptions options;
  options.inference = true;
  std::string path =
      GRADUS_SOURCE_DIR "/tests/data/models/resnet18-cifar/model.onnx";
  // Its weights are not stored; the first that is asked for says so.
  EXPECT_NE(exportOnnx(path, {}, options)
                .status()
                .message()
                .find("\"weights.bin\" is missing"),
            std::string::npos);
}

} // namespace
