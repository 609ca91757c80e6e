// Where the pieces of schedules end in a run.

#include "tool/session/run_length.h"

#include "tests/recipe/piece_cases.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using nlohmann::json;

/// A recipe with a run of 1,000 updates, 97.75 an epoch.
static json recipeOf(const char *pieces) {
  return {{"schedule",
           {{"updates", 1000},
            {"updates_per_epoch", 97.75},
            {"learning_rate", json::parse(pieces)}}}};
}

static std::vector<double> lengthsOf(const char *pieces) {
  json schedule = recipeOf(pieces)["schedule"];
  return pieceLengths(schedule, schedule["learning_rate"]);
}

TEST(RunLengthOfCli, CountsUpdates) {
  auto length = runLengthOf(json{{"accumulation", 4}}, 1002, 391);
  EXPECT_EQ(length.updates, 250);
  EXPECT_EQ(length.updatesPerEpoch, 97.75);
  EXPECT_EQ(runLengthOf(json{{"accumulation", 4}}, 3, 391).updates, 1);
}

TEST(PieceLengthsOfCli, AreThoseOfTheGraph) {
  for (const gradus::testing::PieceCase &each : gradus::testing::kPieceCases)
    EXPECT_EQ(lengthsOf(each.pieces), each.lengths) << each.pieces;
}

TEST(ResolvedSchedules, SayWherePiecesOfTheRunEnd) {
  json recipe = recipeOf(R"([{"type": "linear_warmup", "epochs": 2},
                             {"type": "constant", "rest": true},
                             {"type": "linear", "fraction": 0.2}])");
  EXPECT_EQ(resolvedSchedules(recipe),
            "learning_rate: linear_warmup to step 196, constant to step 800, "
            "linear to step 1000");
  recipe["accumulation"] = 2;
  recipe["schedule"]["weight_decay"] =
      json::parse(R"([{"type": "step", "interval": "epoch"}])");
  EXPECT_EQ(resolvedSchedules(recipe),
            "learning_rate: linear_warmup to step 392, constant to step 1600, "
            "linear to step 2000; weight_decay: step");
  EXPECT_EQ(resolvedSchedules(recipeOf(R"([{"type": "linear", "steps": 9}])")),
            "");
  EXPECT_EQ(resolvedSchedules(json::object()), "");
}
