// The keys of `precondition` with their defaults, and what is a layer norm's.

#include "passes/preconditioning.h"

#include "program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

PreconditionSettings settingsOf(const std::string &recipe) {
  PassText source("gradus.program @p attributes {recipe = {" + recipe +
                  "}} {\n}\n");
  auto settings = preconditioning().of(source.program());
  EXPECT_TRUE(settings) << source.messages;
  return settings.value_or(PreconditionSettings());
}

TEST(Preconditioning, HasDefaultsForEachType) {
  PreconditionSettings thor = settingsOf("precondition = {type = \"thor\"}");
  EXPECT_EQ(thor.type, PreconditionSettings::Type::thor);
  EXPECT_EQ(thor.decay, 0);
  EXPECT_FALSE(thor.splitsByTrace);
  PreconditionSettings kfac = settingsOf("precondition = {type = \"kfac\"}");
  EXPECT_EQ(kfac.type, PreconditionSettings::Type::kfac);
  EXPECT_EQ(kfac.decay, 0.95);
  EXPECT_TRUE(kfac.splitsByTrace);
  for (const PreconditionSettings &each : {thor, kfac}) {
    EXPECT_EQ(each.refresh.every, 100);
    EXPECT_EQ(each.block, 128);
    EXPECT_EQ(each.limit, 8192);
    EXPECT_EQ(each.kinds.size(), 4u);
    EXPECT_TRUE(each.isPerSample);
    EXPECT_FALSE(each.refresh.measureEvery);
  }
}

TEST(Preconditioning, HasMindSporesFactorsWithItsRules) {
  EXPECT_FALSE(
      settingsOf("compat = \"mindspore\", precondition = {type = \"thor\"}")
          .isPerSample);
  EXPECT_FALSE(
      settingsOf("precondition = {type = \"thor\", compat = \"mindspore\"}")
          .isPerSample);
  EXPECT_TRUE(settingsOf("compat = \"mindspore\", precondition = {type = "
                         "\"thor\", per_sample = true}")
                  .isPerSample);
}

TEST(Preconditioning, FindsScaleAndBiasOfLayerNorms) {
  PassText source(R"(
gradus.program @p {
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @input : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %scale = gradus.read @scale : tensor<4xf32>
    %bias = gradus.read @bias : tensor<4xf32>
    %x = gradus.read @input : tensor<4xf32>
    %y = gradus.layer_norm %x, %scale plus %bias {epsilon = 1.0e-5 : f64} : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    gradus.update @scale, %g : tensor<4xf32>
    gradus.update @bias, %g : tensor<4xf32>
    gradus.update @input, %g : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
})");
  std::vector<bool> found;
  source.program().walk(
      [&](ParameterUpdate update) { found.push_back(isOfLayerNorm(update)); });
  EXPECT_EQ(found, (std::vector<bool>{true, true, false}));
}

} // namespace
