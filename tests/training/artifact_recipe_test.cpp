// What the recipe of an artifact says of labels and losses.

#include "tests/training/adding.h"
#include "training/artifact_recipe.h"

#include <gmock/gmock.h>

using namespace gradus::training;
using gradus::test::Adding;

TEST(ArtifactRecipe, SaysWhichLabelsThereMayBe) {
  gradus::test::TestArtifact artifact;
  artifact.header.classes = 10;
  artifact.header.recipe = R"({"loss": {"class_axis": 1, "ignore_index": -1}})";
  Adding adding(artifact);
  auto rule = labelRules(*adding.session).at("label");
  EXPECT_EQ(rule.classes, 10);
  EXPECT_EQ(rule.ignore, -1);
}

TEST(ArtifactRecipe, IsEmptyWhereThereIsNone) {
  gradus::test::TestArtifact artifact;
  artifact.header.recipe = "";
  Adding adding(artifact);
  EXPECT_TRUE(recipeOf(*adding.session).empty());
}

TEST(ArtifactRecipe, ListsTheGraphsThatThereAre) {
  Adding adding;
  EXPECT_EQ(*graphOf(*adding.session, "evaluate"), 1);
  EXPECT_THAT(
      graphOf(*adding.session, "tran").status().message(),
      testing::HasSubstr("has no graph 'tran'; it has train, evaluate"));
}

TEST(ArtifactRecipe, SaysWhetherRanksHaveParametersOfTheirOwn) {
  auto keep = [](const char *own, const char *recipe) {
    gradus::test::TestArtifact artifact;
    artifact.header.recipe = recipe;
    artifact.addOwn("kept/rest", 5);
    for (auto &state : artifact.header.states)
      state->per_rank |= state->name == own;
    return ranksKeepOwn(*Adding(artifact).session);
  };
  const char *local =
      R"({"distribution": {"mode": "data_parallel", "reduce": "local"}})";
  EXPECT_TRUE(keep("total", "{}"));
  EXPECT_FALSE(keep("total", local)) << "they meet";
  EXPECT_FALSE(keep("step", "{}")) << "it is no parameter";
  EXPECT_FALSE(keep("kept/rest", "{}"));
}

TEST(ArtifactRecipe, CountsTheUpdatesUpToAMeeting) {
  auto meeting = [](const char *text) {
    return updatesPerMeeting(nlohmann::json::parse(text));
  };
  EXPECT_EQ(
      meeting(
          R"({"distribution": {"mode": "data_parallel", "reduce": "local", "every": 20}})"),
      20);
  for (
      const char *none :
      {"{}", R"({"distribution": 3})",
       R"({"distribution": {"mode": 1, "reduce": [], "every": 20}})",
       R"({"distribution": {"mode": "none", "reduce": "local", "every": 20}})",
       R"({"distribution": {"mode": "data_parallel", "reduce": "plain", "every": 20}})"})
    EXPECT_EQ(meeting(none), 0) << none;
  auto every = [&](const char *number) {
    return meeting(
        (R"({"distribution": {"mode": "data_parallel", "reduce": "local", "every": )" +
         std::string(number) + "}}")
            .c_str());
  };
  EXPECT_EQ(every("0"), 1);
  EXPECT_EQ(every("null"), 1);
  EXPECT_EQ(every("4611686018427387904"), 1'000'000'000) << "a forged one";
}

TEST(ArtifactRecipe, CountsTheStepsOfAnUpdate) {
  EXPECT_EQ(stepsPerUpdate({{"accumulation", 4}}), 4);
  for (const char *none :
       {"{}", R"({"accumulation": 0})", R"({"accumulation": "two"})"})
    EXPECT_EQ(stepsPerUpdate(nlohmann::json::parse(none)), 1) << none;
}
