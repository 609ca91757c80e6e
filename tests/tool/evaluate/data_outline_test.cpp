// Samples, classes and batches in words.

#include "tool/evaluate/data_outline.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

namespace {

DataOutline digits() {
  DataOutline outline;
  outline.samples = 1437;
  outline.classes = {10, 10};
  outline.batch = 32;
  outline.batches = 44;
  outline.leftOut = 29;
  return outline;
}

} // namespace

TEST(DataOutline, SaysWhatAnEpochIs) {
  DataOutline outline = digits();
  EXPECT_EQ(outline.trainingText(),
            "1437 samples in 10 classes, 44 batches of 32 an epoch; 29 samples "
            "fill no batch and are left out, others in each epoch");
  outline.leftOut = 1;
  EXPECT_EQ(outline.trainingText(),
            "1437 samples in 10 classes, 44 batches of 32 an epoch; 1 sample "
            "fills no batch and is left out, others in each epoch");
  outline.leftOut = 0;
  EXPECT_EQ(outline.trainingText(),
            "1437 samples in 10 classes, 44 batches of 32 an epoch");
}

TEST(DataOutline, SaysWhatEachRankHasOfABatch) {
  DataOutline outline = digits();
  outline.leftOut = 0;
  outline.ranks.count = 8;
  EXPECT_EQ(outline.trainingText(), "1437 samples in 10 classes, 44 batches of "
                                    "32 (4 on each rank) an epoch");
  outline.ranks.areLogical = true;
  EXPECT_EQ(outline.trainingText(),
            "1437 samples in 10 classes, 44 batches of 32 (4 on each logical "
            "rank) an epoch");
}

TEST(DataOutline, SaysHowTheLastBatchIsFilled) {
  DataOutline outline = digits();
  outline.batches = 45;
  outline.leftOut = 0;
  outline.filledUp = 3;
  EXPECT_EQ(outline.trainingText(), "1437 samples in 10 classes, 45 batches of "
                                    "32 an epoch, the last one with 29");
  EXPECT_EQ(outline.evaluationText(), "1437 samples in 10 classes, 45 batches "
                                      "of 32, the last one with 29");
}

TEST(DataOutline, SaysWhatEvaluationCannotCount) {
  EXPECT_EQ(digits().evaluationText(),
            "1437 samples in 10 classes, 44 batches of 32; the last 29 samples "
            "fill no batch and do not count: the loss cannot leave padding "
            "out");
}

TEST(DataOutline, ComparesClassesWithTheModels) {
  DataOutline outline = digits();
  outline.leftOut = 0;
  outline.classes = {4, 10};
  EXPECT_EQ(outline.evaluationText(),
            "1437 samples in 4 of the model's 10 classes, 44 batches of 32");
  outline.classes = {};
  EXPECT_EQ(outline.evaluationText(), "1437 samples, 44 batches of 32");
}

TEST(DataOutline, IsJsonToo) {
  EXPECT_EQ(digits().toJson().dump(),
            R"({"samples":1437,"classes":10,"of_classes":10,"batch":32,)"
            R"("batches":44,"left_out":29})");
}
