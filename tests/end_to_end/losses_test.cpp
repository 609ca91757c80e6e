// Every loss against PyTorch: value and gradient, compiled and evaluated, and
// the value where the batch's last sample is padding. The numbers and the
// script that recorded them are in tests/data/losses.

#include "compiled.h"

#include "frontends/recipe/recipe.h"
#include "tests/this_build.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace gradus;
using Json = nlohmann::json;

namespace {

double number(const Json &value) {
  if (!value.is_string())
    return value;
  return value == "nan" ? NAN : value == "inf" ? INFINITY : -INFINITY;
}

std::vector<int64_t> shapeOf(const Json &sizes) { return sizes; }

HostTensor tensor(const Json &sizes, const Json &values, bool isFloat = true) {
  HostTensor result = zeros(shapeOf(sizes), isFloat);
  for (size_t i = 0; i < values.size(); ++i)
    if (isFloat)
      result.floats[i] = number(values[i]);
    else
      result.integers[i] = values[i];
  return result;
}

HostTensor scalar(const Json &value) {
  return tensor(Json::array(), Json::array({value}));
}

std::vector<Json> recorded() {
  std::ifstream file(GRADUS_SOURCE_DIR "/tests/data/losses/losses.json");
  return Json::parse(file)["cases"];
}

/// The recipe as a program holds it.
std::string recipeText(const Json &loss) {
  mlir::MLIRContext context;
  auto recipe =
      recipe::read(Json{{"loss", loss},
                        {"optimizer", {{"type", "sgd"}, {"learning_rate", 1}}}}
                       .dump(),
                   "recipe");
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  std::string text;
  llvm::raw_string_ostream(text) << recipe::toAttribute(*recipe, context);
  return text;
}

std::string typeText(const Json &sizes) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// The model gives its input back, plus a parameter that is 0: its first move
/// is the negative gradient.
std::string program(const Json &sizes, const Json &loss) {
  std::string type = typeText(sizes);
  return "gradus.program @p attributes {recipe = " + recipeText(loss) +
         R"(} {
  gradus.state @p : )" +
         type + R"( {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: )" +
         type + ") -> (y: " + type + ") {\n    %p = gradus.read @p : " + type +
         "\n    %y = arith.addf %x, %p : " + type +
         "\n    gradus.return %y : " + type + "\n  }\n}";
}

template <typename Form>
void expectTorch(const Json &test, const NamedTensors &inputs) {
  Form form(program(test["shape"], test["loss"]));
  HostTensor minusGradient = tensor(test["shape"], test["gradient"]);
  for (double &value : minusGradient.floats)
    value = -value;
  NamedTensors padded = inputs;
  padded["count"] = zeros(llvm::ArrayRef<int64_t>{}, /*isFloat=*/false);
  padded["count"].integers[0] = test["shape"][0].get<int64_t>() - 1;

  NamedTensors butLast = form.run("evaluate", padded),
               all = form.run("train", inputs);
  expectNear({{"loss", all.at("loss")}, {"gradient", form.states().at("p")}},
             {{"loss", scalar(test["value"])}, {"gradient", minusGradient}},
             1e-5, 1e-7);
  expectNear({{"padded", butLast.at("loss")}},
             {{"padded", scalar(test["value_but_last"])}}, 1e-5, 1e-7);
}

class Losses : public ::testing::TestWithParam<Json> {
protected:
  NamedTensors inputs() {
    const Json &test = GetParam();
    bool isFloat = test["label_shape"] == test["shape"];
    return {{"x", tensor(test["shape"], test["x"])},
            {"label", tensor(test["label_shape"], test["label"], isFloat)}};
  }
};

} // namespace

TEST_P(Losses, AreThoseOfPyTorchCompiled) {
  expectTorch<Compiled>(GetParam(), inputs());
}

TEST_P(Losses, AreThoseOfPyTorchEvaluated) {
  expectTorch<Evaluated>(GetParam(), inputs());
}

TEST(LossesOfClasses, AreNoNumberWhereALabelIsNoClass) {
  for (const char *type : {"softmax_cross_entropy", "nll", "multi_margin"}) {
    Json loss = {{"type", type}, {"class_weights", {1, 2, 3}}};
    Compiled compiled(program({2, 3}, loss));
    HostTensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}),
               label = tensor({2}, {1, 3}, /*isFloat=*/false);
    auto run = compiled.run("train", {{"x", x}, {"label", label}});
    EXPECT_TRUE(std::isnan(run.at("loss").floats[0])) << type;
    const HostTensor moved = compiled.states().at("p");
    EXPECT_TRUE(std::isfinite(moved.floats[0])) << type;
    EXPECT_TRUE(std::isnan(moved.floats[3])) << type;
  }
}

TEST(Losses, KeepNoNumberAsNoNumber) {
  for (const char *type : {"hinge", "hinge_embedding", "bce_with_logits"}) {
    Compiled compiled(program({2}, {{"type", type}}));
    HostTensor x = tensor({2}, {1, std::nan("")}), label = tensor({2}, {1, 1});
    auto run = compiled.run("train", {{"x", x}, {"label", label}});
    EXPECT_TRUE(std::isnan(run.at("loss").floats[0])) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Torch, Losses, ::testing::ValuesIn(recorded()), [](const auto &info) {
      return info.param["name"].template get<std::string>();
    });
