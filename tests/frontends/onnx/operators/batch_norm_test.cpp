// Normalizations of ONNX: which statistics they use, and what becomes of those
// that the model keeps.

#include "tests/frontends/onnx/written.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// A batch normalization of one channel whose statistics the model keeps.
static SmallModel kept() {
  SmallModel model;
  model.input("x", {2, 1})
      .floats("scale", {1}, {2})
      .floats("bias", {1}, {1})
      .floats("mean", {1}, {3})
      .floats("variance", {1}, {4});
  return model
      .node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"},
            {"y"})
      .withNumber("epsilon", 0)
      .output("y");
}

TEST(BatchNorm, PredictsByTheStatisticsThatTheModelKeeps) {
  HostTensor x = tensor({2, 1}, {1, 7});
  EXPECT_EQ(evaluate(kept(), {x}).floats, (Values{-1, 5}));
  // Also where the file says that the node is in training.
  EXPECT_EQ(evaluate(kept().with("training_mode", 1), {x}).floats,
            (Values{-1, 5}));
}

TEST(BatchNorm, KeepsStatisticsAsBuffers) {
  Imported model = import(kept());
  EXPECT_EQ(model.program().getState("mean").getRole(), Role::buffer);
  EXPECT_EQ(model.program().getState("variance").getRole(), Role::buffer);
  EXPECT_EQ(model.program().getState("scale").getRole(), Role::parameter);
}

TEST(BatchNorm, GivesTheStatisticsItIsToldToGive) {
  SmallModel model;
  for (const char *name : {"scale", "bias", "mean", "variance"})
    model.input(name, {1});
  model.input("x", {2, 1})
      .node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"},
            {"y", "new_mean", "new_variance"})
      .withNumber("epsilon", 0)
      .withNumber("momentum", 0.75)
      .with("training_mode", 1)
      .output("y")
      .output("new_mean")
      .output("new_variance");
  Imported imported = import(model);
  auto outputs =
      evaluate(imported, {tensor({1}, {2}), tensor({1}, {1}), tensor({1}, {8}),
                          tensor({1}, {1}), tensor({2, 1}, {1, 7})});
  EXPECT_EQ(outputs[0].floats, (Values{-1, 3}));
  EXPECT_EQ(outputs[1].floats, (Values{0.75 * 8 + 0.25 * 4}));
  EXPECT_EQ(outputs[2].floats, (Values{0.75 * 1 + 0.25 * 9}));
}

TEST(BatchNorm, SaysHowTrainingTreatsInferenceForm) {
  const char *words = "1 batch normalization is in inference form; training "
                      "uses the statistics of the batch "
                      "(\"freeze_batch_norm\": true keeps the running ones)";
  EXPECT_EQ(notes(kept().write(), "{loss = {type = \"mse\"}}"), words);
  EXPECT_EQ(notes(kept().with("training_mode", 1).write(),
                  "{loss = {type = \"mse\"}}"),
            "");
  EXPECT_EQ(notes(kept().write(),
                  "{loss = {type = \"mse\"}, freeze_batch_norm = true}"),
            "");
  EXPECT_EQ(notes(kept().write(), "{}"), "");
}

TEST(BatchNorm, RefusesStatisticsOfAnotherSize) {
  SmallModel model;
  model.input("x", {2, 3}).floats("one", {1}, {1});
  model.node("BatchNormalization", {"x", "one", "one", "one", "one"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the BatchNormalization\" (BatchNormalization): its input "
            "\"one\" has 1 elements, expected 3");
}

/// What the import of a training form with this many outputs says.
static std::string errorOfOutputs(int64_t opset, size_t count) {
  SmallModel model;
  model.input("x", {2, 1, 2}).floats("one", {1}, {1});
  std::vector<std::string> outputs = {"y", "m", "v", "saved_m", "saved_v"};
  outputs.resize(count);
  model.node("BatchNormalization", {"x", "one", "one", "one", "one"}, outputs)
      .output("y");
  return import(model.setOpset(opset)).error;
}

TEST(BatchNorm, HasThreeOutputsFromOpset14On) {
  EXPECT_EQ(errorOfOutputs(17, 3), "");
  EXPECT_EQ(errorOfOutputs(9, 5), "");
  EXPECT_EQ(errorOfOutputs(14, 5),
            "node \"the BatchNormalization\" (BatchNormalization): has 5 "
            "outputs; BatchNormalization of opset 14 has at most 3; ONNX's own "
            "checker refuses it, too; PyTorch's TorchScript exporter writes it "
            "for InstanceNorm with running statistics: export with "
            "torch.onnx.export(..., dynamo=True, optimize=False)");
}

TEST(BatchNorm, NormalizesEachImageAlone) {
  SmallModel model;
  model.input("x", {2, 1, 2})
      .floats("scale", {1}, {2})
      .floats("bias", {1}, {1});
  model.node("InstanceNormalization", {"x", "scale", "bias"}, {"y"})
      .withNumber("epsilon", 0)
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 1, 2}, {1, 3, 10, 30})}).floats,
            (Values{-1, 3, -1, 3}));
}

/// Two groups of two channels: 1, 1, 3, 3 and 10, 10, 30, 30.
static Values grouped(int64_t opset, const std::vector<float> &scale) {
  SmallModel model;
  model.setOpset(opset);
  int64_t length = scale.size();
  model.input("x", {1, 4, 2})
      .floats("scale", {length}, scale)
      .floats("bias", {length}, std::vector<float>(length, 0));
  model.node("GroupNormalization", {"x", "scale", "bias"}, {"y"})
      .with("num_groups", 2)
      .withNumber("epsilon", 0)
      .output("y");
  return evaluate(model, {tensor({1, 4, 2}, {1, 1, 3, 3, 10, 10, 30, 30})})
      .floats;
}

TEST(BatchNorm, NormalizesGroupsOfChannels) {
  EXPECT_EQ(grouped(21, {1, 2, 3, 4}), (Values{-1, -1, 2, 2, -3, -3, 4, 4}));
  // Before opset 21 a group has one factor.
  EXPECT_EQ(grouped(18, {1, 3}), (Values{-1, -1, 1, 1, -3, -3, 3, 3}));
}

/// A batch without images has no number of groups.
TEST(BatchNormExports, OfNoImagesAreWrittenAsFormulas) {
  const std::string x = "tensor<0x2x3xf32>", rows = "tensor<1x0x3xf32>";
  EXPECT_EQ(
      errorOf(Written{
          "%x: " + x + ", %s: tensor<2xf32>",
          "%i = arith.constant dense<1.0> : tensor<f32>\n"
          "%o = arith.constant dense<0.0> : tensor<f32>\n"
          "%one = gradus.broadcast %i dims [] : tensor<f32> -> tensor<0xf32>\n"
          "%nil = gradus.broadcast %o dims [] : tensor<f32> -> tensor<0xf32>\n"
          "%r = gradus.reshape %x : " +
              x + " -> " + rows +
              "\n%n, %m, %v = gradus.batch_norm_training %r, %one, %nil "
              "epsilon "
              "1.0e-5 : " +
              rows + ", tensor<0xf32>\n%b = gradus.reshape %n : " + rows +
              " -> " + x +
              "\n%w = gradus.broadcast %s dims [1] : tensor<2xf32> -> " + x +
              "\n%p = arith.mulf %b, %w : " + x +
              "\n%y = arith.addf %p, %w : " + x,
          x}),
      "");
}
