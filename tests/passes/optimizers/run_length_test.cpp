// The length of a run: said by the recipe, or awaited as states.

#include "passes/optimizers/run_length.h"

#include "passes/numbers.h"
#include "runtime/well_known.h"
#include "tests/passes/program_text.h"

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

namespace {

struct RunOf {
  explicit RunOf(const std::string &recipe)
      : source("gradus.program @p attributes {recipe = {" + recipe + R"(}} {
  gradus.graph @g() {
    gradus.return
  }
})"),
        builder(
            source.program().getGraph("g").getBody().front().getTerminator()),
        math(builder, source.program().getLoc()),
        length(math, source.program()) {}

  std::optional<double> updates() { return knownNumber(length.updates()); }

  PassText source;
  OpBuilder builder;
  Arithmetic math;
  RunLength length;
};

} // namespace

TEST(RunLength, IsAStateThatTrainingSets) {
  RunOf run("");
  EXPECT_EQ(run.updates(), std::nullopt);
  StateOp state = run.source.program().getState(well_known::kUpdates);
  ASSERT_TRUE(state);
  auto range = state->getAttrOfType<DenseF64ArrayAttr>(kRange);
  ASSERT_TRUE(range);
  EXPECT_EQ(range[0], 1) << "0 is no length";
  EXPECT_FALSE(run.source.program().getState(well_known::kUpdatesPerEpoch))
      << "no piece asked";
  (void)run.length.updatesPerEpoch();
  EXPECT_TRUE(run.source.program().getState(well_known::kUpdatesPerEpoch));
  EXPECT_FALSE(run.length.hasFailed());
}

TEST(RunLength, IsAConstantWhereNothingCanBeSet) {
  RunOf run("settable = false, schedule = {updates = 250 : i64}");
  EXPECT_EQ(run.updates(), 250);
  EXPECT_FALSE(run.length.hasFailed());
  (void)run.length.updatesPerEpoch();
  EXPECT_TRUE(run.length.hasFailed());
  EXPECT_NE(run.source.messages.find(
                "recipe: schedule.updates_per_epoch is null, expected a "
                "number: with \"settable\": false it cannot be set when "
                "training starts"),
            std::string::npos)
      << run.source.messages;
}

TEST(RunLength, IsFilledInWhereItIsNotSaid) {
  RunOf run("schedule = {updates = 250 : i64}");
  DictionaryAttr recipe = withRunLength(run.source.program(), 1000, 100);
  auto schedule = recipe.getAs<DictionaryAttr>("schedule");
  EXPECT_EQ(schedule.getAs<IntegerAttr>("updates").getInt(), 250);
  EXPECT_EQ(schedule.getAs<FloatAttr>("updates_per_epoch").getValueAsDouble(),
            100);
  EXPECT_FALSE(recipe.getAs<BoolAttr>("settable").getValue());
}
