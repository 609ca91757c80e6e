#include "passes/preconditioning.h"

#include "program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

std::optional<PreconditionSettings> settings(const std::string &recipe) {
  PassText text("gradus.program @p attributes {recipe = {" + recipe + "}} {}");
  return preconditioning().of(text.program());
}

using Kind = PreconditionSettings::Kind;

} // namespace

TEST(Preconditioning, IsOffUnlessAsked) {
  EXPECT_FALSE(settings(""));
  EXPECT_FALSE(settings("precondition = false"));
}

TEST(Preconditioning, OfThorKeepsTheLastMeasurement) {
  auto thor = settings("precondition = {type = \"thor\"}");
  ASSERT_TRUE(thor);
  EXPECT_EQ(thor->type, PreconditionSettings::Type::thor);
  EXPECT_EQ(thor->damping.initial, 0.03);
  EXPECT_EQ(thor->damping.path, "precondition.damping");
  EXPECT_EQ(thor->refresh.every, 100);
  EXPECT_EQ(thor->block, 128);
  EXPECT_EQ(thor->decay, 0);
  EXPECT_FALSE(thor->splitsByTrace);
  EXPECT_TRUE(thor->isPerSample);
  EXPECT_FALSE(thor->measuresOften());
  for (Kind kind :
       {Kind::dense, Kind::convolution, Kind::embedding, Kind::layerNorm})
    EXPECT_TRUE(thor->has(kind));
}

TEST(Preconditioning, OfKfacIsAMeanOverTime) {
  auto kfac =
      settings("precondition = {type = \"kfac\", kinds = [\"dense\"], "
               "refresh = {every = 50 : i64, measure_every = 5 : i64}}");
  ASSERT_TRUE(kfac);
  EXPECT_EQ(kfac->type, PreconditionSettings::Type::kfac);
  EXPECT_EQ(kfac->decay, 0.95);
  EXPECT_TRUE(kfac->splitsByTrace);
  EXPECT_TRUE(kfac->measuresOften());
  EXPECT_TRUE(kfac->has(Kind::dense));
  EXPECT_FALSE(kfac->has(Kind::layerNorm));
}

TEST(Preconditioning, MayHaveTheFactorsOfMindSpore) {
  EXPECT_FALSE(
      settings("compat = \"mindspore\", precondition = {type = \"thor\"}")
          ->isPerSample);
  EXPECT_FALSE(
      settings("precondition = {type = \"thor\", compat = \"mindspore\"}")
          ->isPerSample);
}
