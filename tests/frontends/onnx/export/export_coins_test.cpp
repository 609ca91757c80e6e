// Coins of a file for inference, in nets that PyTorch exported and by hand.

#include "frontends/onnx/export/export_coins.h"
#include "tests/this_build.h"

#include "exported.h"
#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

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
                                             "Constant", "Constant", "Expand",
                                             "Cast", "Add", "Mul", "Mul"}));
}

/// The file for inference of a model with the weight "w" of [2, 3].
ExportedOnnx idle(const SmallModel &model) {
  std::vector<float> weight(6, 1);
  ExportOptions options;
  options.inference = true;
  auto exported =
      exportOnnx(model.write(), {trained("w", {2, 3}, weight)}, options);
  EXPECT_TRUE(exported.ok()) << exported.status();
  return exported.ok() ? *exported : ExportedOnnx();
}

constexpr auto kFloat = int64_t(::onnx::TensorProto::FLOAT);

/// `x * (coin * a) + ((coin - 1) * s + b)` for a coin [2, 3] of chance 0.75.
SmallModel alphaDropout(const Shape &x, float b) {
  SmallModel model;
  model.input("x", x).floats("w", {2, 3}, std::vector<float>(6));
  model.floats("q", {}, {0.75f}).floats("b", {}, {b}).floats("minus", {}, {-1});
  model.floats("a", {}, {0.86725795f}).floats("s", {}, {1.52472556f});
  model.node("RandomUniform", {}, {"u"})
      .with("shape", {2, 3})
      .node("Less", {"u", "q"}, {"stays"})
      .node("Cast", {"stays"}, {"coin"})
      .with("to", kFloat)
      .node("Add", {"coin", "minus"}, {"less"})
      .node("Mul", {"less", "s"}, {"scaled"})
      .node("Add", {"scaled", "b"}, {"shift"})
      .node("Mul", {"coin", "a"}, {"factor"})
      .node("Mul", {"x", "factor"}, {"product"})
      .node("Add", {"product", "shift"}, {"y"})
      .node("Mul", {"x", "w"}, {"z"});
  return model.output("y").output("z");
}

/// As @predict does, also where x is smaller than the coin.
TEST(ExportCoins, GivesAnAlphaDropoutTheShapeOfItsCoin) {
  HostTensor x = counted({1, 3});
  SmallModel before = alphaDropout({1, 3}, 0.38118139f), after;
  ExportedOnnx exported = idle(before);
  EXPECT_EQ(exported.addedCoins, 0);
  after.proto() = parsed(exported);
  for (const SmallModel &model : {before, after}) {
    Imported imported = import(model);
    ASSERT_EQ(imported.error, "");
    StateMap states = statesOf(imported.program());
    states["step"] = {{}, false, {}, {0}};
    auto outputs = evaluateGraph(imported.predict(), {x}, states);
    ASSERT_TRUE(mlir::succeeded(outputs));
    EXPECT_EQ((*outputs)[0].shape, (llvm::SmallVector<int64_t>{2, 3}));
    expectEqual((*outputs)[0].floats, {0, 1, 2, 0, 1, 2});
  }
}

TEST(ExportCoins, CountsThoseWithANumberAdded) {
  EXPECT_EQ(idle(alphaDropout({2, 3}, 0.5f)).addedCoins, 1);
}

/// A shape is two numbers, however large.
TEST(ExportCoins, StoresNoZerosOfAShape) {
  SmallModel model;
  model.input("x", {2, 3}).floats("w", {2, 3}, std::vector<float>(6));
  model.floats("p", {}, {0.5f});
  model.node("RandomUniform", {}, {"u"})
      .with("shape", {1024, 1024})
      .node("CastLike", {"p", "u"}, {"q"})
      .node("Less", {"u", "q"}, {"stays"})
      .node("Cast", {"stays"}, {"y"})
      .with("to", kFloat)
      .node("Mul", {"x", "w"}, {"z"})
      .output("y")
      .output("z");
  ExportedOnnx exported = idle(model);
  EXPECT_LT(exported.model.size(), 1000u);
  SmallModel after;
  after.proto() = parsed(exported);
  Imported imported = import(after);
  std::vector<HostTensor> y = evaluate(imported, {counted({2, 3})});
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[0].floats, std::vector<double>(1 << 20, 0.5));
}

/// An AlphaDropout's nodes, of which one lacks an input.
void addBroken(SmallModel &model, const std::string &n,
               const std::vector<std::string> &product,
               const std::vector<std::string> &sum) {
  auto with = [&](const std::vector<std::string> &names) {
    std::vector<std::string> own;
    for (const std::string &name : names)
      own.push_back(name + n);
    return own;
  };
  model.node("RandomUniformLike", {"x"}, {"u" + n})
      .node("Less", {"u" + n, "q"}, {"stays" + n})
      .node("Cast", {"stays" + n}, {"coin" + n})
      .with("to", kFloat)
      .node("Add", {"coin" + n, "minus"}, {"less" + n})
      .node("Mul", {"less" + n, "s"}, {"scaled" + n})
      .node("Add", {"scaled" + n, "b"}, {"shift" + n})
      .node("Mul", {"coin" + n, "a"}, {"factor" + n})
      .node("Mul", with(product), {"product" + n})
      .node("Add", with(sum), {"sum" + n});
}

/// Each is whole but for what its name says, so that nothing else keeps it from
/// being taken. Of them three are coins still, which get a shape each.
TEST(ExportCoins, LeavesWhatIsMalformed) {
  SmallModel model = alphaDropout({2, 3}, 0.5f);
  model.graph().clear_node();
  model.graph().clear_output();
  model.node("Cast", {"ring"}, {"round"})
      .with("to", kFloat)
      .node("Cast", {"round"}, {"ring"})
      .with("to", kFloat)
      .node("RandomUniformLike", {"x"}, {"u2"})
      .node("Less", {"u2", "ring"}, {"endless"})
      .node("Cast", {"endless"}, {"a2"})
      .with("to", kFloat)
      .node("RandomUniform", {}, {"u"})
      .with("shape", {int64_t(-2), int64_t(3)})
      .node("Less", {"u", "q"}, {"negative"})
      .node("Cast", {"negative"}, {"a1"})
      .with("to", kFloat)
      .node("RandomUniformLike", {}, {"unlike"})
      .node("Less", {"unlike", "q"}, {"shapeless"})
      .node("Cast", {"shapeless"}, {"a3"})
      .with("to", kFloat)
      .node("RandomUniformLike", {"x"}, {"u4"})
      .node("Less", {"u4", "q"}, {"unseen"})
      .node("Cast", {"unseen"}, {})
      .with("to", kFloat)
      .node("RandomUniformLike", {"x"}, {"u7"})
      .node("Less", {"u7"}, {"alone"})
      .node("Cast", {"alone"}, {"a7"})
      .with("to", kFloat)
      .node("Bernoulli", {}, {"nothing"})
      .node("Mul", {"x", "w"}, {"y"})
      .output("y");
  addBroken(model, "5", {"factor"}, {"product", "shift"});
  addBroken(model, "6", {"factor", "factor"}, {"shift"});
  std::vector<std::string> taken;
  ::onnx::ModelProto after = parsed(idle(model));
  for (const auto &node : after.graph().node())
    if (node.op_type() == "Shape")
      taken.push_back(node.input(0));
  EXPECT_EQ(taken, (std::vector<std::string>{"u4", "u5", "u6"}));
}

} // namespace
