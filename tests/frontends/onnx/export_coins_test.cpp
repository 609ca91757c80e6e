// Coins of a file for inference, in nets that PyTorch exported and by hand.

#include "frontends/onnx/export_coins.h"

#include "frontends/onnx/export.h"

#include "small_model.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

::onnx::ModelProto read(const std::string &path) {
  ::onnx::ModelProto model;
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&stream));
  return model;
}

::onnx::ModelProto parsed(const ExportedOnnx &exported) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(exported.model));
  return model;
}

TrainedTensor trained(const char *name, std::vector<int64_t> shape,
                      const std::vector<float> &values) {
  return {name,
          "f32",
          std::move(shape),
          {reinterpret_cast<const uint8_t *>(values.data()),
           sizeof(float) * values.size()}};
}

/// The file for inference of one in tests/data/exports, its first weight 0, 1,
/// 2, ...
::onnx::ModelProto idle(const std::string &name) {
  std::vector<float> weight(12);
  std::iota(weight.begin(), weight.end(), 0.0f);
  ExportOptions options;
  options.inference = true;
  auto exported =
      exportOnnx(GRADUS_SOURCE_DIR "/tests/data/exports/" + name + ".onnx",
                 {trained("body.weight", {4, 3, 1, 1}, weight)}, options);
  EXPECT_TRUE(exported.ok()) << exported.status();
  return exported.ok() ? parsed(*exported) : ::onnx::ModelProto();
}

std::vector<HostTensor> predicted(const ::onnx::ModelProto &model) {
  SmallModel file;
  file.proto() = model;
  Imported imported = import(file.write("idle.onnx"));
  HostTensor image = counted({2, 3, 4, 4});
  for (double &value : image.floats)
    value = value / 96 - 0.5;
  EXPECT_EQ(imported.error, "");
  if (!imported.module)
    return {};
  StateMap states = statesOf(imported.program());
  states["step"] = {{}, false, {}, {0}}; // Coins that became none drew by it.
  auto outputs = evaluateGraph(imported.predict(), {image}, states);
  EXPECT_TRUE(mlir::succeeded(outputs));
  return mlir::succeeded(outputs)
             ? std::vector<HostTensor>(outputs->begin(), outputs->end())
             : std::vector<HostTensor>();
}

/// What channels and paths of stochastic depth are multiplied by is 1, as in
/// @predict, and nothing is drawn any more.
TEST(ExportCoins, PutsTheirChanceInThePlaceOfCoins) {
  for (const char *name : {"coins_whole", "alpha_whole", "alpha_default"}) {
    SCOPED_TRACE(name);
    ::onnx::ModelProto after = idle(name),
                       before = read(GRADUS_SOURCE_DIR "/tests/data/exports/" +
                                     std::string(name) + ".onnx");
    int expanded = 0;
    for (const auto &node : after.graph().node()) {
      EXPECT_NE(node.op_type(), "RandomUniformLike");
      EXPECT_NE(node.op_type(), "Less");
      expanded +=
          node.output(0).starts_with("sampled") && node.op_type() == "Expand";
    }
    EXPECT_EQ(expanded, 2);
    *before.mutable_graph()->mutable_initializer() =
        after.graph().initializer();
    std::vector<HostTensor> found = predicted(after),
                            expected = predicted(before);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(expected.size(), 1u);
    expectEqual(found[0].floats, expected[0].floats);
  }
}

TEST(ExportCoins, TakesBernoullisOfAKnownChanceAndNoOthers) {
  SmallModel model;
  model.input("x", {2, 3}).floats("q", {2, 3}, std::vector<float>(6, 0.75f));
  model.floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  model.node("Bernoulli", {"q"}, {"coins"})
      .node("Bernoulli", {"x"}, {"drawn"})
      .node("RandomUniform", {}, {"u"})
      .with("shape", {2, 3})
      .floats("p", {}, {0.5f})
      .node("Less", {"u", "p"}, {"stays"})
      .node("Cast", {"stays"}, {"paths"})
      .with("to", int64_t(::onnx::TensorProto::FLOAT))
      .node("Add", {"coins", "paths"}, {"known"})
      .node("Mul", {"known", "w"}, {"weighted"})
      .node("Mul", {"drawn", "weighted"}, {"y"})
      .output("y");
  std::vector<float> weight(6);
  ExportOptions options;
  options.inference = true;
  auto exported =
      exportOnnx(model.write(), {trained("w", {2, 3}, weight)}, options);
  ASSERT_TRUE(exported.ok()) << exported.status();
  ::onnx::ModelProto after = parsed(*exported);
  std::vector<std::string> types;
  for (const auto &node : after.graph().node())
    types.push_back(node.op_type());
  EXPECT_EQ(types, (std::vector<std::string>{"Identity", "Bernoulli",
                                             "Constant", "Shape", "Expand",
                                             "Cast", "Add", "Mul", "Mul"}));
}

} // namespace
