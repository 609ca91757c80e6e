// Steps in bf16 and f16 do what the evaluator says, which rounds where the
// graph does; with f32 masters, losses and gradients of parameters.

#include "compiled.h"
#include "tests/sanitized.h"

#include "runtime/safetensors.h"

#include <bit>
#include <unistd.h>

using namespace gradus;

namespace {

/// A batch norm and a residual between convolutions, a bias, gelu, tanh, and a
/// head: `c` channels on `n` images of `s` x `s`.
std::string network(const std::string &precision, int64_t n, int64_t c,
                    int64_t s, const std::string &more = "") {
  auto tensor = [](std::initializer_list<int64_t> shape) {
    std::string text = "tensor<";
    for (int64_t extent : shape)
      text += std::to_string(extent) + "x";
    return text + "f32>";
  };
  std::string image = tensor({n, c, s, s}), kernel = tensor({c, c, 3, 3}),
              channels = tensor({c}), rows = tensor({n, c}),
              dense = tensor({c, c}), head = tensor({10, c}),
              logits = tensor({n, 10});
  auto state = [](const std::string &name, const std::string &type,
                  const std::string &rule,
                  const std::string &role = "parameter") {
    return "gradus.state @" + name + " : " + type + " {role = #gradus.role<" +
           role + ">, init = #gradus.init<" + rule + ">}\n";
  };
  std::string window = " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] "
                       ": " +
                       image + ", " + kernel + " -> " + image + "\n";
  std::string read;
  for (auto [name, type] : {std::pair("w", kernel),
                            {"v", kernel},
                            {"scale", channels},
                            {"bias", channels},
                            {"mean", channels},
                            {"variance", channels},
                            {"dense", dense},
                            {"head", head}})
    read += "%" + std::string(name) + " = gradus.read @" + name + " : " + type +
            "\n";
  return "gradus.program @p attributes {recipe = {precision = \"" + precision +
         "\", loss = {type = \"softmax_cross_entropy\"}, optimizer = {type = "
         "\"sgd\", learning_rate = 0.1, momentum = 0.9}" +
         more + "}} {\n" + state("w", kernel, "kaiming_uniform") +
         state("v", kernel, "kaiming_uniform") +
         state("scale", channels, "constant, 1.0 : f64") +
         state("bias", channels, "zeros") +
         state("mean", channels, "zeros", "buffer") +
         state("variance", channels, "constant, 1.0 : f64", "buffer") +
         state("dense", dense, "kaiming_uniform") +
         state("head", head, "kaiming_uniform") +
         "gradus.graph @predict(%x: " + image + ") -> (logits: " + logits +
         ") {\n" + read + "%0 = gradus.convolution %x, %w" + window +
         "%1 = gradus.batch_norm %0, %scale, %bias mean %mean variance "
         "%variance epsilon 1.0e-5 momentum 0.9 : " +
         image + ", " + channels + "\n%2 = gradus.relu %1 : " + image +
         "\n%3 = gradus.convolution %2, %v" + window +
         "%4 = arith.addf %3, %2 : " + image +
         "\n%5 = math.tanh %4 : " + image +
         "\n%6 = gradus.reduce mean %5 axes [2, 3] : " + image + " -> " + rows +
         "\n%7 = gradus.matmul %6, %dense : " + rows + ", " + dense + " -> " +
         rows + "\n%8 = gradus.broadcast %bias dims [1] : " + channels +
         " -> " + rows + "\n%9 = arith.addf %7, %8 : " + rows +
         "\n%10 = gradus.gelu %9 : " + rows +
         "\n%11 = gradus.matmul %10, %head transposed : " + rows + ", " + head +
         " -> " + logits + "\ngradus.return %11 : " + logits + "\n}\n}\n";
}

NamedTensors batch(int64_t n, int64_t c, int64_t s, uint64_t seed) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  auto image = mlir::RankedTensorType::get({n, c, s, s}, builder.getF32Type());
  auto label = mlir::RankedTensorType::get({n}, builder.getI64Type());
  return {{"x", randomTensor(image, seed)},
          {"label", randomTensor(label, seed + 1, 10)}};
}

/// Gives both the same parameters, as large as layers begin with.
template <typename One, typename Other>
void setStates(One &one, Other &other, int64_t c) {
  uint64_t seed = 40;
  for (auto &[name, value] : one.states()) {
    if (name.find("/copy/") != std::string::npos)
      continue; // follows its weight
    HostTensor start = value;
    uint64_t state = seed++;
    double reach = name == "w" || name == "v" ? 1 / std::sqrt(9.0 * c)
                                              : 1 / std::sqrt(double(c));
    if (name == "w" || name == "v" || name == "dense" || name == "head")
      for (double &number : start.floats) {
        state = state * 6364136223846793005 + 1442695040888963407;
        // f32, as the runtime holds it
        number = float(reach * (double(state >> 11) / 0x1p52 - 1));
      }
    one.setState(name, start);
    other.setState(name, start);
  }
}

/// Steps of both; each number of the last may be as far off as roundings that
/// fall to the other side make it.
void expectSameSteps(const std::string &precision, int64_t n, int64_t c,
                     int64_t s, double tolerance, int steps = 3) {
  std::string text = network(precision, n, c, s);
  Compiled compiled(text);
  Evaluated evaluated(text);
  setStates(compiled, evaluated, c);
  for (int step = 0; step < steps; ++step) {
    NamedTensors inputs = batch(n, c, s, 7 * step);
    auto found = compiled.run("train", inputs),
         expected = evaluated.run("train", inputs);
    EXPECT_NEAR(found["loss"].floats[0], expected["loss"].floats[0],
                tolerance * expected["loss"].floats[0])
        << precision << ", step " << step;
  }
  auto found = compiled.states(), expected = evaluated.states();
  for (const char *name :
       {"w", "v", "scale", "bias", "mean", "variance", "dense", "head"})
    expectNear({{name, found[name]}}, {{name, expected[name]}}, tolerance,
               tolerance * 0.2);
}

} // namespace

TEST(Precision, StepsAreThoseOfTheEvaluator) {
  expectSameSteps("f32", 3, 8, 6, 1e-5);
  expectSameSteps("bf16", 3, 8, 6, 1e-2);
  expectSameSteps("f16", 3, 8, 6, 2e-3);
}

TEST(Precision, StepsOfLibraryCallsAreThoseOfTheEvaluator) {
  SKIP_WHERE_SANITIZED();
  expectSameSteps("bf16", 4, 64, 16, 1e-2, 1);
}

namespace {

/// A depthwise convolution of `window` between pointwise ones, each behind a
/// normalization and a SiLU, and a mean as logits: `c` channels on 3 images of
/// `s` x `s`, in bf16.
std::string lightNetwork(int64_t c, int64_t s, int64_t window) {
  auto number = [](int64_t n) { return std::to_string(n); };
  const std::string image = "tensor<3x" + number(c) + "x" + number(s) + "x" +
                            number(s) + "xf32>",
                    channels = "tensor<" + number(c) + "xf32>",
                    rows = "tensor<3x" + number(c) + "xf32>";
  auto kernel = [&](const std::string &of) {
    return "tensor<" + number(c) + "x" +
           (of == "d" ? "1x" + number(window) + "x" + number(window)
                      : number(c) + "x1x1") +
           "xf32>";
  };
  std::string states, body, at = "%x";
  auto state = [&](const std::string &name, const std::string &type,
                   const std::string &rest) {
    states += "gradus.state @" + name + " : " + type +
              " {role = #gradus.role<" + rest + ">}\n";
    body += "%" + name + " = gradus.read @" + name + " : " + type + "\n";
  };
  for (const std::string n : {"p", "d", "q"}) {
    const std::string pad = number(n == "d" ? window / 2 : 0);
    state(n, kernel(n), "parameter>, init = #gradus.init<kaiming_uniform");
    state(n + "s", channels,
          "parameter>, init = #gradus.init<constant, 1.0 : f64");
    state(n + "b", channels, "parameter>, init = #gradus.init<zeros");
    state(n + "m", channels, "buffer>, init = #gradus.init<zeros");
    state(n + "v", channels,
          "buffer>, init = #gradus.init<constant, 1.0 : f64");
    body += "%c" + n + " = gradus.convolution " + at + ", %" + n +
            " strides [1, 1] pads [" + pad + ", " + pad + "] to [" + pad +
            ", " + pad + "] dilations [1, 1]" +
            (n == "d" ? " groups " + number(c) : "") + " : " + image + ", " +
            kernel(n) + " -> " + image + "\n%n" + n +
            " = gradus.batch_norm %c" + n + ", %" + n + "s, %" + n +
            "b mean %" + n + "m variance %" + n +
            "v epsilon 1.0e-5 momentum 0.9 : " + image + ", " + channels +
            "\n%g" + n + " = gradus.sigmoid %n" + n + " : " + image + "\n%o" +
            n + " = arith.mulf %n" + n + ", %g" + n + " : " + image + "\n";
    at = "%o" + n;
  }
  return "gradus.program @p attributes {recipe = {precision = \"bf16\", loss = "
         "{type = \"softmax_cross_entropy\"}, optimizer = {type = \"sgd\", "
         "learning_rate = 0.1}}} {\n" +
         states + "gradus.graph @predict(%x: " + image +
         ") -> (logits: " + rows + ") {\n" + body + "%y = gradus.reduce mean " +
         at + " axes [2, 3] : " + image + " -> " + rows +
         "\ngradus.return %y : " + rows + "\n}\n}\n";
}

} // namespace

/// Backward reads what was rounded on the way, and computes the rest again: in
/// row-major order, where the window is ours, and in blocks of channels. Sizes
/// are odd, and channels fill no vectors, or blocks.
TEST(Precision, StepsOfLightNetworksAreThoseOfTheEvaluator) {
  for (auto [c, s, window] : {std::tuple(13, 11, 3), {32, 9, 7}}) {
    std::string text = lightNetwork(c, s, window);
    Compiled compiled(text);
    Evaluated evaluated(text);
    setStates(compiled, evaluated, c);
    NamedTensors inputs = batch(3, c, s, 5);
    double found = compiled.run("train", inputs)["loss"].floats[0],
           expected = evaluated.run("train", inputs)["loss"].floats[0];
    EXPECT_NEAR(found, expected, 1e-2 * expected) << c;
    auto states = compiled.states();
    for (auto &[name, value] : evaluated.states())
      if (value.isFloat && name.find("/copy/") == std::string::npos)
        expectNear({{name, states[name]}}, {{name, value}}, 1e-2, 2e-3);
  }
}

TEST(Precision, LossesAreNearThoseOfF32) {
  Compiled narrow(network("bf16", 4, 16, 8)), wide(network("f32", 4, 16, 8));
  setStates(narrow, wide, 16);
  for (int step = 0; step < 5; ++step) {
    NamedTensors inputs = batch(4, 16, 8, 3 * step);
    double found = narrow.run("train", inputs)["loss"].floats[0],
           expected = wide.run("train", inputs)["loss"].floats[0];
    EXPECT_NE(found, expected);
    EXPECT_NEAR(found, expected, 0.02 * expected) << step;
  }
}

/// Gradients of parameters and what the optimizer makes of them are no bf16
/// numbers.
TEST(Precision, ParametersHaveGradientsOfF32) {
  Compiled compiled(network("bf16", 3, 8, 6));
  compiled.run("train", batch(3, 8, 6, 1));
  auto states = compiled.states();
  for (const char *name : {"w", "dense", "head"}) {
    int64_t fine = 0;
    std::string slot = std::string("sgd/momentum/") + name;
    ASSERT_TRUE(states.count(slot)) << slot;
    for (double number : states[slot].floats) {
      float narrow = float(number);
      uint32_t bits;
      std::memcpy(&bits, &narrow, sizeof bits);
      fine += (bits & 0xffff) != 0;
    }
    EXPECT_GT(fine, int64_t(states[slot].floats.size() / 2)) << name;
  }
}

/// With a scale that overflows f16 on the way back, steps change nothing and
/// the scale is halved until they do.
TEST(Precision, F16FindsItsLossScale) {
  Compiled compiled(network(
      "f16", 3, 8, 6,
      ", loss_scale = {type = \"dynamic\", initial = 1.0e9, factor = 2.0, "
      "growth_interval = 2 : i64, minimum = 1.0}"));
  auto before = compiled.states();
  double scale = 1e9;
  int64_t skipped = 0, good = 0;
  for (int step = 0; step < 24; ++step) {
    compiled.run("train", batch(3, 8, 6, step));
    auto states = compiled.states();
    bool overflowed = states["skipped_steps"].integers[0] > skipped;
    if (skipped == step && overflowed)
      EXPECT_EQ(states["w"].floats, before["w"].floats) << step;
    skipped += overflowed;
    good = overflowed ? 0 : good + 1;
    scale = overflowed ? scale / 2 : good == 2 ? scale * 2 : scale;
    good %= 2;
    EXPECT_EQ(states["loss_scale"].floats[0], float(scale)) << step;
  }
  EXPECT_GT(skipped, 3);
  EXPECT_LT(skipped, 20);
  EXPECT_NE(compiled.states()["w"].floats, before["w"].floats);
}

/// The scale of the first convolution's group overflows f16, that of no other
/// does, and gradients of a shortcut and of a bias that is used twice pass from
/// one to the other.
TEST(Precision, F16FindsTheLossScaleOfEachGroup) {
  Compiled compiled(network(
      "f16", 3, 8, 6,
      R"(, loss_scale = {type = "group", groups = [["w", "scale", "bias"],
          ["v"], ["dense", "head"]], initial = [1.0e9, 8.0, 4.0],
          growth = 1.0, reduction = 0.25, maximum = 1.0e9})"));
  auto before = compiled.states();
  double scale = 1e9;
  int64_t skipped = 0;
  for (int step = 0; step < 12; ++step) {
    compiled.run("train", batch(3, 8, 6, step));
    auto states = compiled.states();
    bool overflowed = states["skipped_steps"].integers[0] > skipped;
    EXPECT_EQ(states["w"].floats == before["w"].floats, overflowed) << step;
    skipped += overflowed;
    scale *= overflowed ? 0.25 : 1;
    EXPECT_EQ(states["loss_scale/0"].floats[0], float(scale)) << step;
    EXPECT_EQ(states["loss_scale/1"].floats[0], 8) << step;
    EXPECT_EQ(states["loss_scale/2"].floats[0], 4) << step;
    before = states;
  }
  EXPECT_GT(skipped, 3);
  EXPECT_LT(skipped, 10);
}

/// Powers of two change no bit of a gradient, nor of a curvature measured on
/// it.
TEST(Precision, GroupsOfLossScalesTrainAsNoneWould) {
  for (auto [groups, more] :
       {std::pair(R"(["w", "scale", "bias"], ["v"], ["dense", "head"])",
                  R"(, precondition = {type = "thor", block = 8 : i64,
                      refresh = {every = 2 : i64}})"),
        {R"(["dense", "scale"], ["head", "w", "bias"], ["v"])",
         ", ema = {decay = 0.5}"}}) {
    std::string scales =
        std::string(", loss_scale = {type = \"group\", groups = [") + groups +
        "], initial = [1024.0, 8.0, 32768.0], growth = 1.0}";
    Compiled scaled(network("f32", 3, 8, 6, more + scales)),
        plain(network("f32", 3, 8, 6, more));
    setStates(plain, scaled, 8);
    for (int step = 0; step < 4; ++step) {
      NamedTensors inputs = batch(3, 8, 6, step);
      EXPECT_EQ(scaled.run("train", inputs)["loss"].floats,
                plain.run("train", inputs)["loss"].floats)
          << more;
    }
    auto found = scaled.states();
    for (const auto &[name, expected] : plain.states())
      EXPECT_EQ(found[name].floats, expected.floats) << name << more;
  }
}

//===-- copies of weights -------------------------------------------------===//

namespace {

/// Nearest, ties to even.
float toBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

/// Each copy is its weight, rounded anew; returns how many there are.
int expectRoundings(const NamedTensors &states, const std::string &precision) {
  int copies = 0;
  for (const auto &[name, copy] : states) {
    std::string prefix = precision + "/copy/";
    if (name.rfind(prefix, 0) != 0)
      continue;
    ++copies;
    const HostTensor &weight = states.at(name.substr(prefix.size()));
    for (int64_t i = 0; i < copy.size(); ++i) {
      float each = weight.floats[i];
      float rounded =
          precision == "bf16" ? toBf16(each) : float(_Float16(each));
      EXPECT_EQ(copy.floats[i], rounded) << name << "[" << i << "]";
    }
  }
  return copies;
}

NamedTensors withCount(NamedTensors inputs, int64_t count) {
  HostTensor number = zeros({}, false);
  number.integers = {count};
  inputs["count"] = number;
  return inputs;
}

} // namespace

/// What computes reads copies alone, so that steps have the bits of rounding
/// anew if every copy is its weight's rounding: by all ways that weights
/// change.
TEST(Precision, CopiesAreTheRoundingOfTheWeightsAfterEachStep) {
  for (const char *more :
       {"", ", accumulation = 2 : i64", ", ema = {decay = 0.9}",
        ", clip = {type = \"global_norm\", value = 0.1}",
        ", on_nonfinite = \"skip\""}) {
    Compiled compiled(network("bf16", 3, 8, 6, more));
    ASSERT_EQ(expectRoundings(compiled.states(), "bf16"), 5) << more;
    auto before = compiled.states();
    for (int step = 0; step < 4; ++step) {
      compiled.run("train", batch(3, 8, 6, step));
      expectRoundings(compiled.states(), "bf16");
    }
    EXPECT_NE(compiled.states()["bf16/copy/w"].floats,
              before["bf16/copy/w"].floats)
        << more;
  }
}

TEST(Precision, CopiesStayWhereAnOverflowSkipsTheUpdate) {
  Compiled compiled(network(
      "f16", 3, 8, 6, ", loss_scale = {type = \"static\", initial = 1.0e30}"));
  auto before = compiled.states();
  compiled.run("train", batch(3, 8, 6, 1));
  auto after = compiled.states();
  EXPECT_EQ(after["skipped_steps"].integers[0], 1);
  EXPECT_EQ(after["f16/copy/w"].floats, before["f16/copy/w"].floats);
  EXPECT_EQ(expectRoundings(after, "f16"), 5);
}

TEST(Precision, CopiesFollowWeightsThatAreWrittenFromOutside) {
  Compiled compiled(network("bf16", 3, 8, 6));
  auto inputs = withCount(batch(3, 8, 6, 1), 3);
  double before = compiled.run("evaluate", inputs)["loss"].floats[0];
  auto states = compiled.states();
  std::vector<float> head(states["head"].size(), 0);
  ASSERT_TRUE(compiled.session()
                  .writeState("head", head.data(), head.size() * sizeof(float))
                  .ok());
  double after = compiled.run("evaluate", inputs)["loss"].floats[0];
  EXPECT_NE(after, before);
  EXPECT_NEAR(after, std::log(10), 1e-6);
  ASSERT_TRUE(compiled.session().resetStates().ok());
  EXPECT_EQ(compiled.run("evaluate", inputs)["loss"].floats[0], before);
}

/// Checkpoints hold no copies, and a resumed run has the bits of the first.
TEST(Precision, ResumingMakesCopiesAnew) {
  std::string text = network("bf16", 3, 8, 6),
              path = testing::TempDir() + "gradus_copies." +
                     std::to_string(getpid()) + ".safetensors";
  Compiled one(text), other(text);
  one.run("train", batch(3, 8, 6, 1));
  ASSERT_TRUE(one.session().saveCheckpoint(path).ok());
  auto file = runtime::Safetensors::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find("bf16/copy/w"), nullptr);
  EXPECT_NE(file->find("sgd/momentum/w"), nullptr);
  ASSERT_TRUE(other.session().loadCheckpoint(path).ok());
  for (int step = 2; step < 4; ++step) {
    one.run("train", batch(3, 8, 6, step));
    other.run("train", batch(3, 8, 6, step));
  }
  auto expected = one.states();
  for (const auto &[name, value] : other.states()) {
    EXPECT_EQ(value.floats, expected[name].floats) << name;
    EXPECT_EQ(value.integers, expected[name].integers) << name;
  }
}
