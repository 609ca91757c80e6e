// Figures that are no numbers, by what the recipe says of them.

#include "tests/training/adding.h"
#include "training/finite_checks.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::training;
using nlohmann::json;
using testing::HasSubstr;

namespace {

struct Checks : testing::Test {
  gradus::test::Adding adding;
  gradus::runtime::Session &session = *adding.session;

  FiniteChecks of(const json &recipe, bool saves = true) {
    FiniteOptions options;
    options.saves = saves;
    options.testSource = "d.npz";
    options.advice = "; search for it";
    return *FiniteChecks::create(session, recipe, options);
  }
  std::string step(const json &recipe, const char *figure, double value,
                   bool saves = true) {
    std::vector<Metric> figures = {{figure, value}};
    return of(recipe, saves).checkStep({3, 1, figures, {}, {}}).message();
  }
};

} // namespace

TEST_F(Checks, StopAtAFigureThatIsNoNumber) {
  EXPECT_EQ(step(json::object(), "loss", 0.5), "");
  EXPECT_EQ(step(json::object(), "loss", NAN),
            "step 3: loss is nan; nothing was saved after the last checkpoint. "
            "A lower learning rate may help; search for it");
  EXPECT_EQ(step({{"on_nonfinite", "skip"}}, "loss", NAN), "");
}

TEST_F(Checks, LetALossScaleOverflow) {
  json scaled = {{"loss_scale", {{"type", "dynamic"}}}};
  EXPECT_EQ(step(scaled, "gradient_norm", INFINITY), "");
  EXPECT_THAT(step(scaled, "loss", INFINITY), HasSubstr("loss is inf"));
}

TEST_F(Checks, SaveNoSpoiltState) {
  FiniteChecks checks = of(json::object()),
               none = of(json::object(), /*saves=*/false);
  std::vector<float> spoilt(gradus::test::kSize, NAN);
  ASSERT_TRUE(session.writeState("total", spoilt.data(), 32).ok());
  EXPECT_THAT(checks.onSave({9, SaveKind::due, {}}).message(),
              HasSubstr("step 9: the state total is no longer finite"));
  EXPECT_TRUE(none.onSave({9, SaveKind::due, {}}).ok());
  EXPECT_THAT(
      step(json::object(), "loss", NAN, /*saves=*/false),
      HasSubstr("; nothing was saved, since the run keeps no checkpoint. A "));
}

TEST_F(Checks, StopAtATestUnlessStepsAreSkipped) {
  std::vector<Metric> figures = {{"loss", NAN}};
  TestReport test{4, 9, 1, figures, true};
  FiniteChecks stops = of(json::object()),
               skips = of({{"on_nonfinite", "skip"}}),
               looksAway = of({{"on_nonfinite", "continue"}});
  EXPECT_THAT(stops.onTest(test).message(),
              HasSubstr("d.npz: step 4: test loss is nan; nothing was saved"));
  EXPECT_TRUE(skips.onTest(test).ok());
  EXPECT_THAT(skips.checkLastTest(4, figures).message(),
              HasSubstr("training went on to its end"));
  EXPECT_TRUE(looksAway.checkLastTest(4, figures).ok());
}
