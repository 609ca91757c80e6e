// Training methods in pairs, through compiled graphs: each cell of the table of
// docs/methods/boost.md is a case with numbers worked out by hand, the same
// model rewritten by hand, or a refusal.

#include "compiled.h"

#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace gradus;

namespace {

/// Keys of a recipe, one behind the other, without a comma at the end.
std::string keys(llvm::StringRef text) { return text.rtrim(", ").str(); }

/// A dense weight [1, 16] with elements k / 16, and a second one [1, 2] behind
/// it, moved by plain descent. Its gradients are inputs.
std::string program(const std::string &recipe) {
  return "gradus.program @p attributes {recipe = {" + keys(recipe) + R"(}} {
  gradus.state @w : tensor<1x16xf32> {role = #gradus.role<parameter>, value = dense<[[0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.5625, 0.625, 0.6875, 0.75, 0.8125, 0.875, 0.9375, 1.0]]> : tensor<1x16xf32>}
  gradus.state @v : tensor<2x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<4x16xf32>) -> (y: tensor<4x2xf32>) {
    %w = gradus.read @w : tensor<1x16xf32>
    %v = gradus.read @v : tensor<2x1xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<4x16xf32>, tensor<1x16xf32> -> tensor<4x1xf32>
    %y = gradus.matmul %0, %v transposed : tensor<4x1xf32>, tensor<2x1xf32> -> tensor<4x2xf32>
    gradus.return %y : tensor<4x2xf32>
  }
  gradus.graph @train(%g: tensor<1x16xf32>, %h: tensor<2x1xf32>) {
    gradus.update @w, %g : tensor<1x16xf32>
    gradus.update @v, %h : tensor<2x1xf32>
    gradus.return
  }
})";
}

const std::string kSgd =
    "optimizer = {type = \"sgd\", learning_rate = 0.1, weight_decay = 0.1}, ";
const std::string kPlain =
    "optimizer = {type = \"sgd\", learning_rate = 1.0}, ";
const std::string kCentered = "gradient_centralization = {}, ";
const std::string kHalfFrozen =
    "gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64]}, ";

/// One step with the gradients (g, 0, .., 0) and (h, h).
void step(Compiled &compiled, double g, double h = 0) {
  HostTensor first = zeros(llvm::ArrayRef<int64_t>{1, 16}),
             second = zeros(llvm::ArrayRef<int64_t>{2, 1});
  first.floats[0] = g;
  second.floats = {h, h};
  compiled.run("train", {{"g", first}, {"h", second}});
}

double w(Compiled &compiled, int at = 0) {
  return compiled.states().at("w").floats[at];
}
double v(Compiled &compiled) { return compiled.states().at("v").floats[0]; }

} // namespace

//===-- centralization ----------------------------------------------------===//

TEST(Centralization, TakesTheDecayInWhereItComesAfter) {
  Compiled compiled(program(
      kSgd + "loss_scale = {type = \"static\", initial = 4.0}, "
             "gradient_centralization = {placement = \"after_weight_decay\"}"));
  step(compiled, 16);
  EXPECT_NEAR(w(compiled), -0.3078125, 1e-6);
  EXPECT_NEAR(w(compiled, 1), 0.125 + 0.0290625, 1e-6);
}

TEST(Centralization, LeavesTheDecayAsItIsWhereItComesBefore) {
  Compiled compiled(program(
      kSgd + "loss_scale = {type = \"static\", initial = 4.0}, " + kCentered));
  step(compiled, 16);
  EXPECT_NEAR(w(compiled), 0.0625 - 0.1 * 3.75625, 1e-6);
  EXPECT_NEAR(w(compiled, 1), 0.125 + 0.1 * 0.2375, 1e-6);
}

TEST(Centralization, IsOfTheSumOfAccumulatedBatches) {
  Compiled compiled(program(kPlain + kCentered + "accumulation = 2 : i64"));
  step(compiled, 16);
  step(compiled, 32);
  EXPECT_NEAR(w(compiled), 0.0625 - 24 * 15.0 / 16, 1e-5);
  EXPECT_NEAR(w(compiled, 1), 0.125 + 24.0 / 16, 1e-5);
}

TEST(Centralization, ComesAfterClipping) {
  Compiled compiled(
      program(kPlain + kCentered + "clip = {type = \"value\", value = 1.6}"));
  step(compiled, 16);
  EXPECT_NEAR(w(compiled), 0.0625 - 1.5, 1e-6);
}

TEST(Centralization, IsAveragedOver) {
  Compiled compiled(program(kPlain + kCentered + "ema = {decay = 0.5}"));
  step(compiled, 16);
  EXPECT_NEAR(compiled.states().at("ema/average/w").floats[0], 0.0625 - 15,
              1e-5);
}

//===-- freezing ----------------------------------------------------------===//

TEST(Freezing, LeavesTheFirstLayersAlone) {
  Compiled compiled(program(kPlain + kHalfFrozen));
  step(compiled, 1, 1);
  step(compiled, 1, 1);
  EXPECT_EQ(w(compiled), 0.0625 - 1);
  EXPECT_EQ(v(compiled), -2);
  step(compiled, 1, 1);
  EXPECT_EQ(w(compiled), 0.0625 - 2);
  EXPECT_EQ(v(compiled), -3);
}

TEST(Freezing, LeavesCentralizationToWhatIsTrained) {
  Compiled compiled(program(kPlain + kHalfFrozen + kCentered));
  step(compiled, 16);
  step(compiled, 16);
  step(compiled, 16);
  EXPECT_NEAR(w(compiled), 0.0625 - 30, 1e-4);
}

/// The norm that clips is that of what is trained: 5 of (3, 4), then 4.
TEST(Freezing, ClipsByTheNormOfWhatIsTrained) {
  Compiled compiled(program(kPlain + kHalfFrozen +
                            "clip = {type = \"global_norm\", value = 1.0}"));
  double h = 4 / std::sqrt(2.0);
  step(compiled, 3, h);
  EXPECT_NEAR(w(compiled), 0.0625 - 0.6, 1e-5);
  step(compiled, 3, h);
  EXPECT_NEAR(w(compiled), 0.0625 - 0.6, 1e-5);
  EXPECT_NEAR(v(compiled), -0.8 / std::sqrt(2.0) - 1 / std::sqrt(2.0), 1e-5);
}

/// A step that is skipped runs again, frozen as far as it was; a gradient that
/// is not looked at does no harm.
TEST(Freezing, RunsASkippedStepAgain) {
  Compiled compiled(program(kPlain + kHalfFrozen +
                            "loss_scale = {type = \"dynamic\", initial = 1.0, "
                            "growth_interval = 100 : i64, minimum = 1.0}"));
  step(compiled, INFINITY, 1);
  EXPECT_EQ(v(compiled), 0);
  step(compiled, 1, 1);
  EXPECT_EQ(w(compiled), 0.0625 - 1);
  step(compiled, INFINITY, 1);
  EXPECT_EQ(w(compiled), 0.0625 - 1);
  EXPECT_EQ(v(compiled), -2);
}

TEST(Freezing, KeepsOneMomentumForAllCuts) {
  Compiled compiled(program(
      "optimizer = {type = \"sgd\", learning_rate = 1.0, momentum = 0.9}, " +
      kHalfFrozen));
  for (double expected : {-1.0, -2.9, -5.61, -9.049}) {
    step(compiled, 1, 1);
    EXPECT_NEAR(v(compiled), expected, 1e-5);
  }
}

/// A table of the default's length, with the numbers of freezeSequence().
TEST(Freezing, FollowsALongTable) {
  Compiled compiled(
      program(kPlain +
              "gradient_freeze = {groups = 2 : i64, type = 0 : i64, p = 0.5}"));
  for (int i = 0; i < 6; ++i)
    step(compiled, 1, 1);
  EXPECT_EQ(w(compiled), 0.0625 - 3);
  EXPECT_EQ(v(compiled), -6);
}

/// The cut is that of an update; what rests adds no gradients up.
TEST(Freezing, IsOfWholeUpdatesWhereTheyHaveSeveralBatches) {
  Compiled compiled(program(kPlain + kHalfFrozen + "accumulation = 2 : i64"));
  std::vector<double> ws, vs;
  for (double g : {1.0, 3.0, 100.0, 100.0, 5.0, 7.0}) {
    step(compiled, g, g);
    ws.push_back(w(compiled) - 0.0625);
    vs.push_back(v(compiled));
  }
  EXPECT_EQ(ws, (std::vector<double>{0, -2, -2, -2, -2, -8}));
  EXPECT_EQ(vs, (std::vector<double>{0, -2, -2, -102, -102, -108}));
}

/// A batch that overflows is taken again, in its place of the update.
TEST(Freezing, WaitsForAnotherBatchAfterAnOverflow) {
  Compiled compiled(program(kPlain + kHalfFrozen + "accumulation = 2 : i64, " +
                            "on_nonfinite = \"skip\""));
  for (double g : {1.0, double(INFINITY), 3.0, 4.0, 6.0})
    step(compiled, g, g);
  EXPECT_EQ(w(compiled), 0.0625 - 2);
  EXPECT_EQ(v(compiled), -7);
}

/// Averages go on towards what rests.
TEST(Freezing, IsAveragedOverInEveryStep) {
  Compiled compiled(program(kPlain + kHalfFrozen + "ema = {decay = 0.5}"));
  auto average = [&](const char *name) {
    return compiled.states().at(std::string("ema/average/") + name).floats[0];
  };
  for (int i = 0; i < 3; ++i)
    step(compiled, 1, 1);
  EXPECT_EQ(average("v"), ((-1 - 2) / 2.0 - 3) / 2);
  step(compiled, 1, 1); // w rests at -2
  double before = ((-1 + -1) / 2.0 - 2) / 2;
  EXPECT_EQ(average("w"), 0.0625 + (before - 2) / 2);
}

/// MindSpore has a momentum for each group that a parameter is in; it rests
/// with the steps of the others.
TEST(Freezing, KeepsAMomentumForEachCutWhereMindSporeDoes) {
  Compiled compiled(program(
      "optimizer = {type = \"sgd\", learning_rate = 1.0, momentum = 0.9}, "
      "gradient_freeze = {groups = 2 : i64, strategy = [0 : i64, 1 : i64], "
      "compat = \"mindspore\"}"));
  for (double expected : {-1.0, -2.0, -3.9, -5.8}) {
    step(compiled, 1, 1);
    EXPECT_NEAR(v(compiled), expected, 1e-5);
  }
  EXPECT_TRUE(compiled.states().contains("sgd_cut1/momentum/v"));
}

//===-- rewritten models --------------------------------------------------===//

const std::string kImage = "tensor<4x2x3x3xf32>";
const std::string kKernel = "tensor<2x2x3x3xf32>";

std::string state(const std::string &name, const std::string &type,
                  const std::string &role, const std::string &init) {
  return "gradus.state @" + name + " : " + type + " {role = #gradus.role<" +
         role + ">, init = #gradus.init<" + init + ">}\n";
}

std::string normStates(const std::string &name) {
  const std::string one = "constant, 1.0 : f64", type = "tensor<2xf32>";
  return state(name + ".weight", type, "parameter", one) +
         state(name + ".bias", type, "parameter", "zeros") +
         state(name + ".mean", type, "buffer", "zeros") +
         state(name + ".variance", type, "buffer", one);
}

/// `%n1 = ` the normalization `bn1` of `%c1`.
std::string norm(const std::string &number) {
  std::string text;
  for (std::string part : {"weight", "bias", "mean", "variance"})
    text += "%" + part + number + " = gradus.read @bn" + number + "." + part +
            " : tensor<2xf32>\n";
  return text + "%n" + number + " = gradus.batch_norm %c" + number +
         ", %weight" + number + ", %bias" + number + " mean %mean" + number +
         " variance %variance" + number +
         " epsilon 1.0e-5 momentum 0.9 : " + kImage + ", tensor<2xf32>\n";
}

/// `%c1 = ` the convolution `conv1` of `input`.
std::string convolution(const std::string &number, const std::string &input) {
  return "%w" + number + " = gradus.read @conv" + number + " : " + kKernel +
         "\n%c" + number + " = gradus.convolution " + input + ", %w" + number +
         " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : " + kImage +
         ", " + kKernel + " -> " + kImage + "\n";
}

/// A residual block; by hand without what less_bn takes out.
std::string block(const std::string &recipe, bool byHand) {
  std::string relu = " : " + kImage + "\n";
  return "gradus.program @p attributes {recipe = {loss = {type = \"mse\"}, " +
         keys(kSgd + recipe) + "}} {\n" +
         state("conv1", kKernel, "parameter", "kaiming_uniform") +
         state("conv2", kKernel, "parameter", "kaiming_uniform") +
         (byHand ? "" : normStates("bn1")) + normStates("bn2") +
         "gradus.graph @predict(%x: " + kImage + ") -> (y: " + kImage +
         ") {\n%in = gradus.relu %x" + relu + convolution("1", "%in") +
         (byHand ? "" : norm("1")) + "%r = gradus.relu " +
         (byHand ? "%c1" : "%n1") + relu + convolution("2", "%r") + norm("2") +
         "%y = arith.addf %in, %n2" + relu + "gradus.return %y" + relu + "}\n}";
}

/// The parameters and statistics after some steps.
NamedTensors trained(const std::string &text) {
  Compiled compiled(text);
  HostTensor x = zeros(llvm::ArrayRef<int64_t>{4, 2, 3, 3});
  for (size_t i = 0; i < x.floats.size(); ++i)
    x.floats[i] = std::sin(double(i));
  HostTensor label = zeros(llvm::ArrayRef<int64_t>{4, 2, 3, 3});
  for (int step = 0; step < 4; ++step)
    compiled.run("train", {{"x", x}, {"label", label}});
  return compiled.states();
}

class Rewritten : public testing::TestWithParam<std::string> {};

/// Whatever comes together with less_bn does what it does to the model without
/// these batch normalizations.
TEST_P(Rewritten, TrainsAsTheModelRewrittenByHand) {
  NamedTensors found = trained(block("less_bn = {}, " + GetParam(), false));
  NamedTensors expected = trained(block(GetParam(), true));
  EXPECT_EQ(found.size(), expected.size());
  for (const auto &[name, tensor] : expected)
    EXPECT_EQ(found.at(name).floats, tensor.floats) << name;
}

INSTANTIATE_TEST_SUITE_P(
    LessBn, Rewritten,
    testing::Values("precision = \"f32\"", "precision = \"bf16\"", kCentered,
                    kHalfFrozen, "accumulation = 2 : i64",
                    "loss_scale = {type = \"dynamic\", initial = 8.0}",
                    "ema = {decay = 0.5}",
                    "clip = {type = \"global_norm\", value = 0.1}",
                    "boost = {boost = {adasum = true}}"));

//===-- loss scales of groups ---------------------------------------------===//

namespace {

/// Scales of 4 and 2 that double in each step without an overflow.
const std::string kGroupScales =
    "loss_scale = {type = \"group\", groups = [[\"w\"], [\"v\"]], "
    "initial = [4.0, 2.0], growth = 2.0, reduction = 0.5, maximum = 16.0}, ";

double scale(Compiled &compiled, int group) {
  return compiled.states().at("loss_scale/" + std::to_string(group)).floats[0];
}

} // namespace

TEST(GroupScales, AreTakenOffByWhatWasUsed) {
  Compiled compiled(program(kPlain + kGroupScales));
  step(compiled, 4, 2);
  EXPECT_EQ(w(compiled), 0.0625 - 1);
  EXPECT_EQ(v(compiled), -1);
  step(compiled, 8, 4);
  EXPECT_EQ(w(compiled), 0.0625 - 2);
  EXPECT_EQ(v(compiled), -2);
  EXPECT_EQ(scale(compiled, 0), 16);
  EXPECT_EQ(scale(compiled, 1), 8);
}

/// Nothing changes but the scales, of which those grow that overflowed in no
/// gradient of their own.
TEST(GroupScales, SkipAStepWhereverItOverflowed) {
  Compiled compiled(program(
      "optimizer = {type = \"sgd\", learning_rate = 1.0, momentum = 0.9}, " +
      kGroupScales));
  step(compiled, 4, 2);
  NamedTensors before = compiled.states();
  step(compiled, INFINITY, 4);
  NamedTensors after = compiled.states();
  for (std::string name : {"w", "v", "sgd/momentum/w", "sgd/momentum/v"})
    EXPECT_EQ(after.at(name).floats, before.at(name).floats) << name;
  EXPECT_EQ(after.at("accepted_steps").integers[0], 1);
  EXPECT_EQ(after.at("step").integers[0], 2);
  EXPECT_EQ(scale(compiled, 0), 4);
  EXPECT_EQ(scale(compiled, 1), 8);
}

/// Each batch of an update has the scales of its own step; one that is skipped
/// is not among them.
TEST(GroupScales, AreOfEachAccumulatedBatch) {
  Compiled compiled(program(kPlain + kGroupScales + "accumulation = 2 : i64"));
  step(compiled, 8, 2);
  step(compiled, 16, INFINITY);
  EXPECT_EQ(w(compiled), 0.0625);
  EXPECT_EQ(scale(compiled, 0), 16);
  EXPECT_EQ(scale(compiled, 1), 2);
  step(compiled, 64, 6);
  EXPECT_EQ(w(compiled), 0.0625 - (2 + 4) / 2.0);
  EXPECT_EQ(v(compiled), -(1 + 3) / 2.0);
}

TEST(GroupScales, AreOffBeforeClipping) {
  Compiled compiled(program(kPlain + kGroupScales +
                            "clip = {type = \"global_norm\", value = 5.0}"));
  step(compiled, 12, 2 * 4 / std::sqrt(2.0));
  EXPECT_NEAR(w(compiled), 0.0625 - 3, 1e-5);
  EXPECT_NEAR(v(compiled), -4 / std::sqrt(2.0), 1e-5);
}

/// A frozen group's gradient is not looked at, and its scale stays.
TEST(GroupScales, StayWhereNothingIsTrained) {
  Compiled compiled(program(kPlain + kGroupScales + kHalfFrozen));
  step(compiled, 4, 2);
  step(compiled, INFINITY, 4);
  EXPECT_EQ(v(compiled), -2);
  EXPECT_EQ(scale(compiled, 0), 8);
  EXPECT_EQ(scale(compiled, 1), 8);
}

//===-- refusals ----------------------------------------------------------===//

TEST(Combinations, AreRefusedWithTheReason) {
  for (const Exclusion &pair : exclusions()) {
    auto given = [](llvm::StringRef key) {
      return key.str() + (key == "freeze_batch_norm" ? " = true" : " = {}");
    };
    ModuleText text("gradus.program @p attributes {recipe = {" +
                    given(pair.method) + ", " + given(pair.other) + "}} {}");
    std::string said;
    mlir::ScopedDiagnosticHandler handler(&text.context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            said += diagnostic.str();
                                            return mlir::success();
                                          });
    mlir::PassManager manager(&text.context);
    buildTrainingPipeline(manager);
    EXPECT_TRUE(failed(manager.run(*text.module)));
    EXPECT_EQ(said, "recipe: " + pair.method.str() + " excludes " +
                        pair.other.str() + ": " + pair.reason.str());
  }
}
