// What a checkpoint keeps of the run comes back in the same bits.

#include "tests/training/adding.h"
#include "training/training_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

using namespace gradus::training;
using gradus::test::Adding;
using gradus::test::temporaryPath;

namespace {

double figureOf(const EpochFigures &figures, const std::string &name) {
  for (const Metric &metric : figures.figures())
    if (metric.name == name)
      return metric.value;
  return NAN;
}

} // namespace

TEST(EpochFigures, AreMeansOverTheSteps) {
  EpochFigures figures;
  figures.add({{"loss", 1}, {"learning_rate", 0.1}, {"gradient_norm", 2}});
  figures.add(
      {{"loss", 4}, {"learning_rate", 0.2}, {"gradient_norm", INFINITY}});
  EXPECT_EQ(figureOf(figures, "loss"), 2.5);
  EXPECT_EQ(figureOf(figures, "learning_rate"), 0.2) << "the last";
  EXPECT_EQ(figureOf(figures, "gradient_norm"), 2) << "of steps not skipped";
}

TEST(EpochFigures, AreNoNumberWhereNoStepCounts) {
  EpochFigures figures;
  figures.add({{"loss", 1}, {"gradient_norm", NAN}});
  EXPECT_TRUE(std::isnan(figureOf(figures, "gradient_norm")));
  EXPECT_EQ(figureOf(figures, "loss"), 1);
}

TEST(EpochFigures, GoOnWhereTheyWereInTheSameBits) {
  EpochFigures whole, half, resumed;
  for (int i = 1; i <= 20; ++i) {
    whole.add({{"loss", 1.0 / i}});
    (i <= 10 ? half : resumed).add({{"loss", 1.0 / i}});
    if (i == 10)
      resumed.restore(nlohmann::json::parse(half.toJson().dump()));
  }
  EXPECT_EQ(figureOf(whole, "loss"), figureOf(resumed, "loss"));
}

TEST(EpochFigures, KeepNaN) {
  EpochFigures figures, resumed;
  figures.add({{"loss", NAN}});
  resumed.restore(nlohmann::json::parse(figures.toJson().dump()));
  EXPECT_FALSE(resumed.empty());
  resumed.add({{"loss", 1}});
  EXPECT_TRUE(std::isnan(figureOf(resumed, "loss")));
}

TEST(EpochFigures, AreNoneWhereTheTextIsNone) {
  for (const char *text : {"null", "[]", R"({"sums": [[1]], "steps": 3})",
                           R"({"sums": [], "steps": "x"})", R"({"sums": []})",
                           R"({"sums": [["loss", 1, "x"]], "steps": 3})",
                           R"({"sums": [["loss", 1, -1]], "steps": 3})",
                           R"({"sums": [["loss", "1", 1]], "steps": 3})",
                           R"({"sums": [["loss", 1, 1]], "steps": -1})"}) {
    EpochFigures figures;
    EXPECT_FALSE(figures.restore(nlohmann::json::parse(text))) << text;
    EXPECT_TRUE(figures.empty()) << text;
  }
}

TEST(TrainingRecord, ComesBackFromACheckpoint) {
  Adding adding;
  std::string path = temporaryPath("record.safetensors");
  TrainingRecord record;
  record.seed = ~uint64_t(0);
  record.samples = 100;
  record.batch = 32;
  record.ranks = 4;
  record.epoch = {{"steps", 0}, {"sums", nlohmann::json::array()}};
  record.bestAtEnd = {{"step", 7}};
  record.reported = true;
  record.classes = {"ant", "bee"};
  record.passes = {"methods:gradient-noise"};
  record.normalize = {{"image", {{"mean", {0.5}}, {"std", {0.25}}}}};
  record.recipe = {{"clip", nullptr}, {"accumulation", 2}};
  ASSERT_TRUE(
      adding.session->saveCheckpoint(path, {{"training", record.text()}}).ok());
  auto found = *TrainingRecord::ofCheckpoint(path);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->seed, ~uint64_t(0));
  EXPECT_EQ(found->samples, 100);
  EXPECT_EQ(found->batch, 32);
  EXPECT_EQ(found->ranks, 4);
  EXPECT_EQ(found->batchOfRank(), 8);
  EXPECT_EQ(found->bestAtEnd, record.bestAtEnd);
  EXPECT_TRUE(found->reported);
  EXPECT_EQ(found->classes, record.classes);
  EXPECT_EQ(found->passes, record.passes);
  EXPECT_EQ(found->normalize, record.normalize);
  EXPECT_EQ(found->recipe, record.recipe);
  ASSERT_TRUE(adding.session->saveCheckpoint(path).ok());
  EXPECT_FALSE(*TrainingRecord::ofCheckpoint(path)) << "there is none";
  std::filesystem::remove(path);
}

TEST(TrainingRecord, IsLoadedWithTheStates) {
  Adding former, next;
  std::string path = temporaryPath("loaded.safetensors");
  std::filesystem::remove(path);
  EXPECT_FALSE(*TrainingRecord::loadIfThere(*next.session, path));
  float total[8] = {5, 5, 5, 5, 5, 5, 5, 5}, found[8] = {};
  ASSERT_TRUE(former.session->writeState("total", total, 32).ok());
  TrainingRecord record;
  record.seed = 7;
  ASSERT_TRUE(
      former.session->saveCheckpoint(path, {{"training", record.text()}}).ok());
  auto loaded = *TrainingRecord::loadIfThere(*next.session, path);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->seed, 7);
  ASSERT_TRUE(next.session->readState("total", found, 32).ok());
  EXPECT_EQ(found[3], 5);
  std::filesystem::remove(path);
}

TEST(TrainingRecord, DoesNotSayTheRanksWhereItIsOlder) {
  auto record = TrainingRecord::parse(R"({"seed": 3, "batch": 8})");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->ranks, 0);
  EXPECT_EQ(record->batchOfRank(), 8);
  record->ranks = 1;
  EXPECT_EQ(TrainingRecord::parse(record->text())->ranks, 1);
}

TEST(TrainingRecord, IsRefusedWhereItCannotBeRead) {
  Adding adding;
  std::string path = temporaryPath("record.safetensors");
  for (std::string other :
       {R"()",
        R"(3)",
        R"({})",
        R"({"seed": "x"})",
        R"({"seed": -1})",
        R"({"seed": 1.5})",
        R"({"seed": 3, "validation": -1})",
        R"({"seed": 3, "validation": 1})",
        R"({"seed": 3, "samples": -1})",
        R"({"seed": 3, "batch": 8, "ranks": 0})",
        R"({"seed": 3, "batch": 8, "ranks": 1e300})",
        R"({"seed": 3, "batch": 8, "ranks": 2.0})",
        R"({"seed": 3, "batch": 8, "ranks": -2})",
        R"({"seed": 3, "batch": 0, "ranks": 9223372036854775808})",
        R"({"seed": 3, "batch": 1e300})",
        R"({"seed": 3, "samples": 1e300})",
        R"({"seed": 3, "batch": 8, "ranks": 3})",
        R"({"seed": 3, "best": 3})",
        R"({"seed": 3, "epoch": {"steps": -1, "sums": []}})",
        R"({"seed": 3, "classes": [1]})"}) {
    ASSERT_TRUE(
        adding.session->saveCheckpoint(path, {{"training", other}}).ok());
    auto refused = TrainingRecord::ofCheckpoint(path);
    ASSERT_FALSE(refused.ok()) << other;
    EXPECT_EQ(refused.status().code(), gradus::runtime::StatusCode::invalid);
    EXPECT_THAT(refused.status().message(),
                testing::HasSubstr(path + ": what it says of its training"));
  }
  std::filesystem::remove(path);
}
