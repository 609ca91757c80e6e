// Activations of ONNX against their definitions.

#include "tests/frontends/onnx/written.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

namespace {

struct Definition {
  const char *type;
  std::vector<std::pair<const char *, float>> attributes;
  double (*function)(double);
};

void PrintTo(const Definition &definition, std::ostream *out) {
  *out << definition.type;
}

class Activation : public ::testing::TestWithParam<Definition> {};

double clip(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}

double softplus(double x) { return std::log1p(std::exp(x)); }

} // namespace

TEST_P(Activation, IsWhatTheStandardSays) {
  const Values points = {-5, -1.25, -0.5, 0, 0.25, 1, 4};
  SmallModel model;
  model.input("x", {7}).node(GetParam().type, {"x"}, {"y"}).output("y");
  for (auto [key, value] : GetParam().attributes)
    model.withNumber(key, value);
  HostTensor y = evaluate(model, {tensor({7}, points)});
  ASSERT_EQ(y.floats.size(), points.size());
  for (size_t i = 0; i < points.size(); ++i)
    EXPECT_NEAR(y.floats[i], GetParam().function(points[i]), 1e-6)
        << "at " << points[i];
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Activation,
    ::testing::Values(
        Definition{"LeakyRelu",
                   {{"alpha", 0.25}},
                   [](double x) { return x > 0 ? x : 0.25 * x; }},
        Definition{"ThresholdedRelu",
                   {{"alpha", 0.5}},
                   [](double x) { return x > 0.5 ? x : 0; }},
        Definition{"HardSigmoid",
                   {},
                   [](double x) { return clip(0.2 * x + 0.5, 0, 1); }},
        Definition{"HardSwish",
                   {},
                   [](double x) { return x * clip(x / 6 + 0.5, 0, 1); }},
        Definition{"Shrink",
                   {{"lambd", 1}, {"bias", 0.5}},
                   [](double x) {
                     return x < -1 ? x + 0.5 : x > 1 ? x - 0.5 : 0;
                   }},
        Definition{"Elu",
                   {{"alpha", 2}},
                   [](double x) { return x > 0 ? x : 2 * std::expm1(x); }},
        Definition{"Celu",
                   {{"alpha", 2}},
                   [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
        Definition{
            "Selu",
            {{"alpha", 1.5}, {"gamma", 2}},
            [](double x) { return 2 * (x > 0 ? x : 1.5 * std::expm1(x)); }},
        Definition{"Softplus", {}, softplus},
        Definition{
            "Softsign", {}, [](double x) { return x / (1 + std::abs(x)); }},
        Definition{
            "Mish", {}, [](double x) { return x * std::tanh(softplus(x)); }},
        Definition{"Swish",
                   {{"alpha", 2}},
                   [](double x) { return x / (1 + std::exp(-2 * x)); }}),
    [](const auto &info) { return std::string(info.param.type); });

TEST(Activation, StaysFiniteFarFromZero) {
  for (const char *type : {"Softplus", "Elu", "Mish"}) {
    SmallModel model;
    model.input("x", {2}).node(type, {"x"}, {"y"}).output("y");
    HostTensor y = evaluate(model, {tensor({2}, {-2000, 2000})});
    EXPECT_EQ(y.floats[1], 2000) << type;
    EXPECT_TRUE(std::isfinite(y.floats[0])) << type;
  }
}

TEST(Clip, TakesLimitsFromAttributesOrInputs) {
  HostTensor x = tensor({3}, {-1, 2, 9});
  SmallModel old;
  old.setOpset(6).input("x", {3}).node("Clip", {"x"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(old.withNumber("max", 6).withNumber("min", 0), {x}).floats,
            (Values{0, 2, 6}));
  SmallModel model;
  model.input("x", {3}).floats("six", {}, {6});
  model.node("Clip", {"x", "", "six"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {x}).floats, (Values{-1, 2, 6}));
}

TEST(Clip, KeepsIntegersWhole) {
  SmallModel model;
  model.input("x", {3}, ::onnx::TensorProto::INT64)
      .integers("low", {}, {-((int64_t(1) << 60) + 1)})
      .integers("high", {}, {INT64_MAX})
      .node("Clip", {"x", "low", "high"}, {"y"})
      .output("y");
  HostTensor x{{3}, false, {}, {INT64_MIN, 5, INT64_MAX}};
  EXPECT_EQ(evaluate(model, {x}).integers,
            (std::vector<int64_t>{-((int64_t(1) << 60) + 1), 5, INT64_MAX}));
}

TEST(Clip, RefusesLimitsOfAnotherType) {
  SmallModel model;
  model.input("x", {3}).integers("low", {}, {1});
  model.node("Clip", {"x", "low"}, {"y"}).output("y");
  EXPECT_EQ(import(model).error,
            "node \"the Clip\" (Clip): its min \"low\" is of another type than "
            "its input");
}

TEST(Clip, TakesLimitsThatAreComputed) {
  SmallModel model;
  model.input("x", {3}).input("low", {}).floats("high", {}, {6});
  model.node("Clip", {"x", "low", "high"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({3}, {-1, 2, 9}), tensor({}, {1})}).floats,
            (Values{1, 2, 6}));
}

/// Limits of an initializer's form are numbers of the model's code.
TEST(Clip, TrainsALimitOnlyWhereThePatternNamesIt) {
  using Case = std::pair<const char *, Shape>;
  for (const auto &[name, shape] : {Case{"high", {1}}, Case{"act.high", {}}}) {
    SmallModel model;
    model.input("x", {3}).floats(name, shape, {6});
    model.node("Clip", {"x", "", name}, {"y"}).output("y");
    EXPECT_EQ(evaluate(model, {tensor({3}, {-1, 2, 9})}).floats,
              (Values{-1, 2, 6}));
    Imported plain = import(model);
    ASSERT_EQ(plain.error, "");
    EXPECT_FALSE(plain.program().getState(name)) << name;
    ImportOptions options;
    options.trainable = {name};
    Imported named = import(model, options);
    ASSERT_EQ(named.error, "");
    ASSERT_TRUE(named.program().getState(name)) << name;
    EXPECT_EQ(named.program().getState(name).getRole(), Role::parameter);
  }
}

TEST(Clip, SharesAParameterThatIsALimit) {
  SmallModel model;
  model.input("x", {3}).floats("high", {1}, {6});
  model.node("Mul", {"x", "high"}, {"z"});
  model.node("Clip", {"z", "", "high"}, {"y"}).output("y");
  Imported imported = import(model);
  ASSERT_EQ(imported.error, "");
  EXPECT_TRUE(imported.program().getState("high"));
}

TEST(Clip, RefusesManyLimits) {
  SmallModel model;
  model.input("x", {3}).input("low", {3});
  model.node("Clip", {"x", "low"}, {"y"}).output("y");
  EXPECT_EQ(import(model).error,
            "node \"the Clip\" (Clip): its limit \"low\" is not one number of "
            "its input's type");
}

TEST(Clip, TakesComputedLimitsOfIntegers) {
  SmallModel model;
  model.input("x", {3}, ::onnx::TensorProto::INT64)
      .input("high", {}, ::onnx::TensorProto::INT64)
      .node("Clip", {"x", "", "high"}, {"y"})
      .output("y");
  HostTensor x{{3}, false, {}, {-4, 5, 9}}, high{{}, false, {}, {6}};
  EXPECT_EQ(evaluate(model, {x, high}).integers,
            (std::vector<int64_t>{-4, 5, 6}));
}

TEST(PRelu, HasASlopeForEachChannel) {
  SmallModel model;
  model.input("x", {1, 2, 2}).floats("slope", {2, 1}, {2, 3});
  model.node("PRelu", {"x", "slope"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 2, 2}, {-1, 1, -1, 1})}).floats,
            (Values{-2, 1, -3, 1}));
}

TEST(PRelu, RefusesASlopeThatDoesNotFit) {
  SmallModel model;
  model.input("x", {1, 2, 2}).floats("slope", {3}, {2, 3, 4});
  model.node("PRelu", {"x", "slope"}, {"y"}).output("y");
  EXPECT_EQ(import(model).error,
            "node \"the PRelu\" (PRelu): its slope of shape [3] does not fit "
            "an input of shape [1, 2, 2]");
}

TEST(PRelu, TakesIntegersOfOneType) {
  SmallModel model;
  model.input("x", {3}, ::onnx::TensorProto::INT64).integers("s", {}, {2});
  model.node("PRelu", {"x", "s"}, {"y"}).output("y");
  HostTensor x{{3}, false, {}, {-3, 0, 4}};
  EXPECT_EQ(evaluate(model, {x}).integers, (std::vector<int64_t>{-6, 0, 4}));
  SmallModel mixed;
  mixed.input("x", {3}).integers("s", {}, {2});
  mixed.node("PRelu", {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(import(mixed).error, "node \"the PRelu\" (PRelu): its slope is of "
                                 "another type than its input");
}

/// The reference evaluator does not round to 32 bits, so numbers are of 64.
TEST(ActivationExports, Log1pOfLargeAndSmallNumbers) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::string type = "tensor<6xf64>";
  Imported model =
      parsed({"%x: " + type, "%y = math.log1p %x : " + type, type});
  Imported again = importedAgain(model);
  std::vector<double> found =
      evaluate(again, {tensor({6}, {-1, inf, 1e307, 3e37, 1e-20, -inf})})
          .at(0)
          .floats;
  EXPECT_EQ(found[0], -inf);
  EXPECT_EQ(found[1], inf);
  EXPECT_NEAR(found[2], std::log(1e307), 1e-4);
  EXPECT_NEAR(found[3], std::log(3e37), 1e-4);
  EXPECT_DOUBLE_EQ(found[4], 1e-20);
  EXPECT_TRUE(std::isnan(found[5]));
}

/// The formula of Celu with alpha 1/2 is a node of f32, of others its parts.
TEST(ActivationExports, CeluIsOfF32) {
  for (const char *element : {"f32", "f16", "f64"}) {
    std::string type = std::string("tensor<3x") + element + ">";
    auto constant = [&](const char *name, const char *value) {
      return std::string(name) + " = arith.constant dense<" + value +
             "> : " + type + "\n";
    };
    Types nodes =
        nodesOf({"%x: " + type,
                 constant("%o", "0.0") + constant("%two", "2.0") +
                     constant("%half", "0.5") +
                     "%p = arith.cmpf ogt, %x, %o : " + type +
                     "\n%w = arith.mulf %x, %two : " + type +
                     "\n%q = arith.cmpf ogt, %w, %o : " + type +
                     "\n%m = arith.select %q, %o, %w : tensor<3xi1>, " + type +
                     "\n%e = math.expm1 %m : " + type +
                     "\n%l = arith.mulf %e, %half : " + type +
                     "\n%y = arith.select %p, %x, %l : tensor<3xi1>, " + type,
                 type});
    EXPECT_EQ(nodes == Types{"Celu"}, element == std::string("f32")) << element;
    EXPECT_EQ(nodes.back(), element == std::string("f32") ? "Celu" : "Where");
  }
}
