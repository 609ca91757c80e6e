// Figures that are no numbers, by what the recipe says of them.

#include "tests/tool/adder.h"
#include "tool/train/finite_checks.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::cli;
using nlohmann::json;
using testing::HasSubstr;

namespace {

/// The words of the failure of `check`; empty if there is none.
template <typename Check> std::string wordsOf(Check check) {
  try {
    check();
  } catch (const Failure &failure) {
    return failure.what();
  }
  return "";
}

struct Checks : testing::Test {
  Adder adder;
  std::unique_ptr<gradus::runtime::Session> session = adder.open();

  std::string step(const json &recipe, const char *figure, double value) {
    FiniteChecks checks(*session, recipe, /*saves=*/true, /*debug=*/false);
    return wordsOf([&] { checks.checkStep(3, {{figure, value}}, {}, {}); });
  }
};

} // namespace

TEST_F(Checks, StopAtAFigureThatIsNoNumber) {
  EXPECT_EQ(step(json::object(), "loss", 0.5), "");
  EXPECT_THAT(step(json::object(), "loss", NAN),
              HasSubstr("step 3: loss is nan; nothing was saved after the last "
                        "checkpoint. A lower learning rate may help"));
  EXPECT_EQ(step({{"on_nonfinite", "skip"}}, "loss", NAN), "");
}

TEST_F(Checks, LetALossScaleOverflow) {
  json scaled = {{"loss_scale", {{"type", "dynamic"}}}};
  EXPECT_EQ(step(scaled, "gradient_norm", INFINITY), "");
  EXPECT_THAT(step(scaled, "loss", INFINITY), HasSubstr("loss is inf"));
}

TEST_F(Checks, SaveNoSpoiltState) {
  FiniteChecks checks(*session, json::object(), true, false),
      none(*session, json::object(), /*saves=*/false, false);
  std::vector<float> spoilt(gradus::test::kSize, NAN);
  ASSERT_TRUE(session->writeState("total", spoilt.data(), 32).ok());
  EXPECT_THAT(wordsOf([&] { checks.checkSaved(9); }),
              HasSubstr("step 9: the state total is no longer finite"));
  EXPECT_EQ(wordsOf([&] { none.checkSaved(9); }), "");
  EXPECT_THAT(
      wordsOf([&] { none.checkStep(3, {{"loss", NAN}}, {}, {}); }),
      HasSubstr("; nothing was saved, since the run keeps no checkpoint. A "));
}

TEST_F(Checks, StopAtATestUnlessStepsAreSkipped) {
  std::vector<Metric> figures = {{"loss", NAN}};
  FiniteChecks stops(*session, json::object(), true, false),
      skips(*session, {{"on_nonfinite", "skip"}}, true, false),
      looksAway(*session, {{"on_nonfinite", "continue"}}, true, false);
  EXPECT_THAT(wordsOf([&] { stops.checkTested(4, figures, "d.npz"); }),
              HasSubstr("d.npz: step 4: test loss is nan; nothing was saved"));
  EXPECT_EQ(wordsOf([&] { skips.checkTested(4, figures, "d.npz"); }), "");
  EXPECT_THAT(wordsOf([&] { skips.checkLastTest(4, figures, "d.npz"); }),
              HasSubstr("training went on to its end"));
  EXPECT_EQ(wordsOf([&] { looksAway.checkLastTest(4, figures, "d.npz"); }), "");
}
