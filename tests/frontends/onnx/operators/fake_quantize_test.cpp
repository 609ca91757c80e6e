// Rounding to integers and back, whose gradients the recipe passes on.

#include "frontends/onnx/operators/fake_quantize.h"

#include "ir/gradient_ops.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using namespace mlir;

/// x rounded to steps of 0.5 from 0 to 255 of them, of which 2 stand for 0; cut
/// to `most` steps where there is one.
static SmallModel rounding(std::optional<int64_t> most = {}) {
  SmallModel model;
  model.input("x", {3}).floats("scale", {1}, {0.5});
  auto byte = [&](const char *name, int64_t value) {
    model.integers(name + std::string("_i64"), {}, {value})
        .node("Cast", {name + std::string("_i64")}, {name})
        .with("to", int64_t(::onnx::TensorProto::UINT8));
  };
  byte("zero", 2);
  model.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  if (most) {
    byte("most", *most);
    model.node("Clip", {"q", "", "most"}, {"cut"});
  }
  model.node("DequantizeLinear", {most ? "cut" : "q", "scale", "zero"}, {"y"});
  return model.output("y");
}

static Imported imported(const SmallModel &model, const char *recipe) {
  DialectRegistry registry;
  registerDialects(registry);
  Imported result;
  result.context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.recipe =
      cast<DictionaryAttr>(parseAttribute(recipe, result.context.get()));
  auto module = importOnnx(model.write(), options, *result.context);
  EXPECT_TRUE(module.ok()) << module.status();
  if (module.ok())
    result.module = std::move(*module);
  return result;
}

static int stopsIn(Imported &model) {
  int stops = 0;
  model.predict().walk([&](StopGradientOp) { ++stops; });
  return stops;
}

TEST(FakeQuantize, GivesTheSameValuesWithAndWithoutAGradient) {
  const HostTensor x = tensor({3}, {0.7, -1.2, 1000});
  for (const char *recipe : {"{}", "{straight_through = true}"}) {
    Imported model = imported(rounding(), recipe);
    EXPECT_EQ(evaluate(model, {x})[0].floats,
              (std::vector<double>{0.5, -1, 126.5}));
    Imported seven = imported(rounding(127), recipe);
    EXPECT_EQ(evaluate(seven, {x})[0].floats,
              (std::vector<double>{0.5, -1, 62.5}));
  }
}

TEST(FakeQuantize, HasAWayForGradientsWhereTheRecipeAsksForIt) {
  Imported plain = imported(rounding(), "{}");
  EXPECT_EQ(stopsIn(plain), 0);
  Imported asked = imported(rounding(), "{straight_through = true}");
  EXPECT_EQ(stopsIn(asked), 1);
  Imported cut = imported(rounding(127), "{straight_through = true}");
  EXPECT_EQ(stopsIn(cut), 2);
}

TEST(FakeQuantize, KeepsItsScaleUnlessThatIsNamed) {
  auto roleOf = [](Imported model) {
    return model.program().getState("scale").getRole();
  };
  EXPECT_EQ(roleOf(imported(rounding(), "{}")), Role::parameter);
  EXPECT_EQ(roleOf(imported(rounding(), "{straight_through = true}")),
            Role::buffer);
}

TEST(FakeQuantize, IsNamedWhereItStopsTheGradient) {
  std::string path = rounding().write();
  EXPECT_NE(notes(path, R"({loss = {type = "mse"}})")
                .find("1 value is rounded to integers (QuantizeLinear), which "
                      "stops the gradient; \"straight_through\": true in the "
                      "recipe passes it on"),
            std::string::npos);
  EXPECT_EQ(notes(path, R"({loss = {type = "mse"}, straight_through = true})"),
            "");
}
