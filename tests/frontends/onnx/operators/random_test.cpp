// Draws of ONNX models: their moments, and what tells one from another.

#include "frontends/onnx/operators/random.h"
#include "tests/this_build.h"

#include "tests/frontends/onnx/written.h"

#include "mlir/AsmParser/AsmParser.h"

#include <cmath>
#include <numeric>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// The only output of @predict at a step.
static HostTensor firstOutput(Imported &model, int64_t step,
                              const std::vector<HostTensor> &inputs = {}) {
  EXPECT_EQ(model.error, "");
  if (!model.module)
    return {};
  StateMap states = statesOf(model.program());
  states["step"] = {{}, false, {}, {step}};
  auto outputs = evaluateGraph(model.predict(), inputs, states);
  EXPECT_TRUE(mlir::succeeded(outputs));
  return mlir::succeeded(outputs) ? (*outputs)[0] : HostTensor();
}
static Values drawn(Imported &model, int64_t step,
                    const std::vector<HostTensor> &inputs = {}) {
  return firstOutput(model, step, inputs).floats;
}
static Values drawn(const SmallModel &model, int64_t step = 0) {
  Imported imported = import(model);
  return drawn(imported, step);
}

static double mean(const Values &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         double(values.size());
}
static double deviation(const Values &values) {
  double total = 0, middle = mean(values);
  for (double value : values)
    total += (value - middle) * (value - middle);
  return std::sqrt(total / double(values.size()));
}
static double partBelow(const Values &values, double limit) {
  return double(llvm::count_if(values, [&](double v) { return v < limit; })) /
         double(values.size());
}

static SmallModel draws(const char *type) {
  return SmallModel().node(type, {}, {"y"}).with("shape", {100, 200});
}

TEST(Random, IsUniformBetweenItsLimits) {
  Values y = drawn(draws("RandomUniform")
                       .withNumber("low", -1)
                       .withNumber("high", 3)
                       .output("y"));
  ASSERT_EQ(y.size(), 20000u);
  EXPECT_GE(*llvm::min_element(y), -1);
  EXPECT_LT(*llvm::max_element(y), 3);
  EXPECT_NEAR(mean(y), 1, 0.04);
  for (double part : {0.1, 0.25, 0.5, 0.9})
    EXPECT_NEAR(partBelow(y, -1 + 4 * part), part, 0.015);
}

/// A narrow type has few numbers between the limits, and the sum of low and
/// what is drawn is rounded, too.
TEST(Random, StaysBelowTheUpperLimitWhereNumbersAreRounded) {
  struct {
    int type;
    float low, high, next; // the last number below `high`
  } cases[] = {
      {::onnx::TensorProto::FLOAT16, 0, 1, 1 - 0x1p-11f},
      {::onnx::TensorProto::BFLOAT16, 0, 1, 1 - 0x1p-8f},
      {::onnx::TensorProto::BFLOAT16, -2, -1.5f, -1.5f - 0x1p-7f},
      {::onnx::TensorProto::FLOAT16, 1, 1 + 0x1p-9f, 1 + 0x1p-10f},
      {::onnx::TensorProto::FLOAT, 1, 1 + 0x1p-22f, 1 + 0x1p-23f},
  };
  for (auto [type, low, high, next] : cases) {
    SCOPED_TRACE(::testing::Message() << type << " below " << high);
    Values y = drawn(draws("RandomUniform")
                         .with("dtype", type)
                         .withNumber("low", low)
                         .withNumber("high", high)
                         .output("y"));
    EXPECT_GE(*llvm::min_element(y), low);
    EXPECT_EQ(*llvm::max_element(y), next);
  }
}

TEST(Random, IsNormalOfItsMeanAndScale) {
  Values y = drawn(draws("RandomNormal")
                       .withNumber("mean", 0.5)
                       .withNumber("scale", 2)
                       .output("y"));
  EXPECT_NEAR(mean(y), 0.5, 0.06);
  EXPECT_NEAR(deviation(y), 2, 0.04);
  for (double sigmas : {-2.0, -1.0, 0.5, 2.0})
    EXPECT_NEAR(partBelow(y, 0.5 + 2 * sigmas),
                (1 + std::erf(sigmas / std::sqrt(2))) / 2, 0.015);
}

TEST(Random, DrawsAnewByStepSeedAndPlaceInTheModel) {
  SmallModel model = draws("RandomUniform").output("y");
  Values first = drawn(model, 7);
  EXPECT_EQ(drawn(model, 7), first);
  EXPECT_NE(drawn(model, 8), first);

  ImportOptions options;
  Imported seeded;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  seeded.context = std::make_unique<mlir::MLIRContext>(registry);
  options.recipe = mlir::cast<mlir::DictionaryAttr>(
      mlir::parseAttribute("{seed = 5}", seeded.context.get()));
  seeded.module =
      std::move(*importOnnx(model.write(), options, *seeded.context));
  EXPECT_NE(drawn(seeded, 7), first);

  Values both = drawn(SmallModel()
                          .node("RandomUniform", {}, {"a"})
                          .with("shape", {100, 200})
                          .node("RandomUniform", {}, {"b"})
                          .with("shape", {100, 200})
                          .node("Sub", {"a", "b"}, {"y"})
                          .output("y"));
  EXPECT_NEAR(deviation(both), std::sqrt(1.0 / 6), 0.01); // independent
}

TEST(Random, TakesShapeAndTypeOfItsInput) {
  Imported model =
      import(SmallModel()
                 .input("x", {3, 5}, ::onnx::TensorProto::FLOAT16)
                 .node("RandomNormalLike", {"x"}, {"y"})
                 .node("RandomUniformLike", {"x"}, {"z"})
                 .with("dtype", int64_t(::onnx::TensorProto::DOUBLE))
                 .output("y")
                 .output("z"));
  ASSERT_EQ(model.error, "");
  auto types = model.predict().getResultTypes();
  std::string words;
  llvm::raw_string_ostream(words) << types[0] << " " << types[1];
  EXPECT_EQ(words, "tensor<3x5xf16> tensor<3x5xf64>");
}

TEST(Random, TossesCoinsOfComputedChances) {
  Imported model = import(SmallModel()
                              .input("p", {2, 10000})
                              .node("Bernoulli", {"p"}, {"y"})
                              .output("y"));
  HostTensor p = tensor({2, 10000}, Values(20000, 0.3));
  std::fill(p.floats.begin() + 10000, p.floats.end(), 0.9);
  Values y = drawn(model, 0, {p});
  EXPECT_TRUE(llvm::all_of(y, [](double v) { return v == 0 || v == 1; }));
  EXPECT_NEAR(mean(Values(y.begin(), y.begin() + 10000)), 0.3, 0.02);
  EXPECT_NEAR(mean(Values(y.begin() + 10000, y.end())), 0.9, 0.02);
}

/// Paths of stochastic depth stay outside training, as in PyTorch.
TEST(Random, TakesACoinOfAKnownChanceForADropout) {
  for (const char *name : {"noisy_whole", "noisy_script"}) {
    SCOPED_TRACE(name);
    Imported model = import(
        std::string(GRADUS_SOURCE_DIR "/tests/data/exports/") + name + ".onnx");
    ASSERT_EQ(model.error, "");
    Values ratios;
    model.predict().walk([&](DropoutOp op) {
      ratios.push_back(op.getRatio().convertToDouble());
    });
    EXPECT_EQ(ratios, (Values{0.25}));
  }
  SmallModel coins;
  coins.floats("p", {}, {0.75f}).integers("shape", {1}, {4});
  coins.node("Expand", {"p", "shape"}, {"chances"})
      .node("Bernoulli", {"chances"}, {"y"})
      .output("y");
  EXPECT_EQ(drawn(coins), Values(4, 0.75));
}

/// In 16 bits draws are kept below 1, and rounded.
TEST(Random, TakesCoinsOfNarrowTypesForDropouts) {
  for (int type :
       {::onnx::TensorProto::FLOAT16, ::onnx::TensorProto::BFLOAT16}) {
    SCOPED_TRACE(type);
    SmallModel model;
    model.floats("q", {}, {0.75f})
        .node("Cast", {"q"}, {"p"})
        .with("to", type)
        .node("RandomUniform", {}, {"u"})
        .with("shape", Shape{4})
        .with("dtype", type)
        .node("Less", {"u", "p"}, {"stays"})
        .node("Cast", {"stays"}, {"coin"})
        .with("to", type)
        .node("Cast", {"coin"}, {"y"})
        .with("to", int64_t(::onnx::TensorProto::FLOAT))
        .output("y");
    EXPECT_EQ(drawn(model), Values(4, 0.75));
  }
}

/// `x * (coin * a) + ((coin - 1) * s + b)` for a coin of chance 0.75.
static SmallModel alphaDropout(float b) {
  SmallModel model;
  model.input("x", {2, 3}).floats("q", {}, {0.75f}).floats("b", {}, {b});
  model.floats("a", {}, {0.86725795f}).floats("s", {}, {1.52472556f});
  model.floats("minus", {}, {-1}).integers("shape", {2}, {2, 1});
  model.node("Expand", {"q", "shape"}, {"chances"})
      .node("RandomUniformLike", {"chances"}, {"u"})
      .node("Less", {"u", "q"}, {"stays"})
      .node("Cast", {"stays"}, {"coin"})
      .with("to", int64_t(::onnx::TensorProto::FLOAT))
      .node("Add", {"coin", "minus"}, {"less"})
      .node("Mul", {"less", "s"}, {"scaled"})
      .node("Add", {"scaled", "b"}, {"shift"})
      .node("Mul", {"coin", "a"}, {"factor"})
      .node("Mul", {"x", "factor"}, {"product"})
      .node("Add", {"product", "shift"}, {"y"});
  return model.output("y");
}

TEST(Random, GivesTheInputOfAnAlphaDropoutOutsideTraining) {
  HostTensor x = counted({2, 3});
  SmallModel model = alphaDropout(0.38118139f);
  Imported imported = import(model);
  expectEqual(drawn(imported, 0, {x}), x.floats);
  EXPECT_EQ(notes(model.write(), "{}"), "");

  SmallModel other = alphaDropout(0.5f); // Its mean is not 0.
  Imported unknown = import(other);
  Values y = drawn(unknown, 0, {x});
  ASSERT_EQ(y.size(), 6u);
  EXPECT_NE(y, x.floats);
  EXPECT_EQ(notes(other.write(), "{}"),
            "1 coin of a known chance has a number added, as in a form of "
            "AlphaDropout; outside training the chance stands in its place, "
            "which need not be PyTorch's eval");
}

/// What a net of PyTorch's in tests/data/exports gives in eval for ones:
/// its head of what its convolution of 1x1 gives, through SELU.
static Values seluNet(Imported &model) {
  StateMap states = statesOf(model.program());
  const Values &w = states["body.weight"].floats,
               &b = states["body.bias"].floats,
               &v = states["head.weight"].floats,
               &c = states["head.bias"].floats;
  Values y;
  for (int o : {0, 1}) {
    y.push_back(c[o]);
    for (int i = 0; i < 4; ++i) {
      double x = b[i] + w[3 * i] + w[3 * i + 1] + w[3 * i + 2];
      y[o] += v[4 * o + i] * 1.0507009873554805 *
              (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    }
  }
  return {y[0], y[1], y[0], y[1]};
}

TEST(Random, GivesPyTorchsEvalOfAlphaDropout) {
  for (const char *name : {"alpha_whole", "alpha_default"}) {
    SCOPED_TRACE(name);
    Imported model = import(
        std::string(GRADUS_SOURCE_DIR "/tests/data/exports/") + name + ".onnx");
    ASSERT_EQ(model.error, "");
    expectEqual(drawn(model, 0, {tensor({2, 3, 4, 4}, Values(96, 1))}),
                seluNet(model));
    int coins = 0;
    model.predict().walk([&](DropoutOp) { ++coins; });
    EXPECT_EQ(coins, 2);
  }
}

TEST(Random, ShowsOneDrawToAllThatSeeIt) {
  SmallModel model = draws("RandomUniform");
  model.floats("p", {}, {0.5f})
      .node("Less", {"y", "p"}, {"heads"})
      .node("Not", {"heads"}, {"tails"})
      .node("Cast", {"heads"}, {"a"})
      .with("to", int64_t(::onnx::TensorProto::FLOAT))
      .node("Cast", {"tails"}, {"b"})
      .with("to", int64_t(::onnx::TensorProto::FLOAT))
      .node("Add", {"a", "b"}, {"either"})
      .output("either");
  EXPECT_EQ(drawn(model), Values(20000, 1));
}

/// The chances of 0.2 : 0.5 : 0 : 0.3, whatever their sum, anew for each
/// sample.
TEST(Random, SamplesClassesByTheLogarithmsOfTheirChances) {
  SmallModel model;
  model
      .floats("p", {1, 4},
              {std::log(4.f), std::log(10.f), -INFINITY, std::log(6.f)})
      .node("Multinomial", {"p"}, {"y"})
      .with("sample_size", 20000)
      .with("dtype", int64_t(::onnx::TensorProto::INT64))
      .output("y");
  Imported imported = import(model);
  HostTensor y = firstOutput(imported, /*step=*/3);
  EXPECT_EQ(y.shape, (llvm::SmallVector<int64_t>{1, 20000}));
  const double chances[] = {0.2, 0.5, 0, 0.3};
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(llvm::count(y.integers, i) / 20000.0, chances[i], 0.015) << i;
  EXPECT_EQ(llvm::count(y.integers, 2), 0);
}

/// Beside 1e18 no float has room for noise.
TEST(Random, SamplesClassesOfLargeLogits) {
  SmallModel model;
  model.floats("p", {2, 3}, {1e18f, 1e18f, 1e18f, -INFINITY, 0, -INFINITY})
      .node("Multinomial", {"p"}, {"y"})
      .with("sample_size", 3000)
      .with("dtype", int64_t(::onnx::TensorProto::INT64))
      .output("y");
  Imported imported = import(model);
  HostTensor sampled = firstOutput(imported, /*step=*/3);
  llvm::ArrayRef<int64_t> y = sampled.integers;
  ASSERT_EQ(y.size(), 6000u);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(llvm::count(y.take_front(3000), i) / 3000.0, 1.0 / 3, 0.04)
        << i;
  EXPECT_EQ(llvm::count(y.drop_front(3000), 1), 3000);
}

TEST(Random, RefusesWhatItCannotDraw) {
  EXPECT_EQ(import(draws("RandomUniform")
                       .with("dtype", int64_t(::onnx::TensorProto::INT64))
                       .output("y"))
                .error,
            "node \"the RandomUniform\" (RandomUniform): draws elements of "
            "INT64, expected FLOAT, DOUBLE, FLOAT16 or BFLOAT16");
  EXPECT_EQ(import(SmallModel()
                       .input("x", {2}, ::onnx::TensorProto::INT32)
                       .node("RandomUniformLike", {"x"}, {"y"})
                       .output("y"))
                .error,
            "node \"the RandomUniformLike\" (RandomUniformLike): draws "
            "elements of i32, expected FLOAT, DOUBLE, FLOAT16 or BFLOAT16");
  EXPECT_EQ(import(SmallModel()
                       .node("RandomNormal", {}, {"y"})
                       .with("shape", {2, -3})
                       .output("y"))
                .error,
            "node \"the RandomNormal\" (RandomNormal): its shape is [2, -3], "
            "expected sizes of at least 0 and at most 72057594037927936 "
            "elements");
  EXPECT_EQ(import(SmallModel()
                       .floats("p", {}, {1.5f})
                       .node("Bernoulli", {"p"}, {"y"})
                       .output("y"))
                .error,
            "node \"the Bernoulli\" (Bernoulli): its chance is 1.5, expected 0 "
            "to 1");
  EXPECT_EQ(import(SmallModel()
                       .input("x", {2})
                       .floats("step", {2}, {1, 2})
                       .node("Add", {"x", "step"}, {"z"})
                       .node("RandomNormalLike", {"z"}, {"y"})
                       .output("y"))
                .error,
            "node \"the RandomNormalLike\" (RandomNormalLike): draws by the "
            "state \"step\", which is a tensor of the model; rename that");
  EXPECT_EQ(import(SmallModel()
                       .input("x", {2})
                       .floats("step", {2}, {1, 2})
                       .node("RandomNormalLike", {"x"}, {"z"})
                       .node("Add", {"z", "step"}, {"y"})
                       .output("y"))
                .error,
            "reads the tensor \"step\", but random draws of the model count "
            "steps under that name; rename the tensor");
  EXPECT_EQ(import(SmallModel()
                       .input("p", {2, 3})
                       .node("Multinomial", {"p"}, {"y"})
                       .with("sample_size", 0)
                       .output("y"))
                .error,
            "node \"the Multinomial\" (Multinomial): asks for 0 samples of 2 "
            "rows of 3 classes, expected at least 1 sample and at most "
            "72057594037927936 logits of all");
  EXPECT_EQ(import(SmallModel()
                       .input("p", {2, 3})
                       .node("Multinomial", {"p"}, {"y"})
                       .with("dtype", int64_t(::onnx::TensorProto::FLOAT))
                       .output("y"))
                .error,
            "node \"the Multinomial\" (Multinomial): gives elements of FLOAT, "
            "expected INT32 or INT64");
}

TEST(RandomExports, DrawsMasksAndChoicesHaveRows) {
  using Row = std::pair<std::string, std::string>;
  auto rows = [](const SmallModel &model) {
    Imported imported = import(model);
    EXPECT_EQ(imported.error, "");
    return rowsOf(imported.predict());
  };
  const Row number = {"arith.mulf", "RandomUniform"},
            mask = {"arith.select", "Cast"},
            choice = {"arith.select", "Identity"};
  EXPECT_TRUE(rows(draws("RandomUniform").output("y")).count(number));
  auto found = rows(alphaDropout(0.38118139f));
  EXPECT_TRUE(found.count(mask));
  EXPECT_TRUE(found.count(choice));
}
