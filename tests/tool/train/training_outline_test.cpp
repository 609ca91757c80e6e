// The first lines of training.

#include "tool/train/training_outline.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

namespace {

TrainingOutline twoEpochs() {
  TrainingOutline outline;
  outline.data.batch = 32;
  outline.data.samples = 1408;
  outline.data.batches = 44;
  outline.total = 88;
  return outline;
}

std::string printed(const TrainingOutline &outline,
                    const TrainOptions &options) {
  testing::internal::CaptureStdout();
  outline.print(options);
  return testing::internal::GetCapturedStdout();
}

} // namespace

TEST(TrainingOutline, SaysDataStepsAndWhereTheStateIsKept) {
  TrainOptions options;
  options.session.artifact = "nets/lenet.gradus";
  chooseCheckpoint(options);
  EXPECT_EQ(printed(twoEpochs(), options),
            "  data        1408 samples, 44 batches of 32 an epoch\n"
            "  steps       88 in 2 epochs\n"
            "  checkpoint  nets/lenet.safetensors (--checkpoint FILE: "
            "elsewhere, --no-checkpoint: nowhere)\n");
}

TEST(TrainingOutline, SaysThatTheStateIsFurther) {
  TrainingOutline outline = twoEpochs();
  outline.start = 132;
  EXPECT_NE(printed(outline, TrainOptions())
                .find("88 in 2 epochs; the state is at step 132 already\n"),
            std::string::npos);
}

TEST(TrainingOutline, SaysWhatIsAskedFor) {
  TrainingOutline outline = twoEpochs();
  outline.test = outline.data;
  outline.start = 44;
  outline.total = 90;
  TrainOptions options;
  options.checkpoint.path = "c.safetensors";
  EXPECT_EQ(printed(outline, options),
            "  data        1408 samples, 44 batches of 32 an epoch\n"
            "  test data   1408 samples, 44 batches of 32\n"
            "  steps       90, 44 of them done\n"
            "  checkpoint  c.safetensors\n");
  options = {};
  options.checkpoint.isNone = true;
  chooseCheckpoint(options);
  EXPECT_NE(printed(outline, options)
                .find("checkpoint  none: what is trained "
                      "is lost\n"),
            std::string::npos);
}

TEST(TrainingOutline, SaysWhoRunsTheSteps) {
  TrainingOutline outline = twoEpochs();
  outline.processes = 2;
  outline.ranks = "8 logical ranks on 2 processes on here";
  outline.data.ranks = {8, /*areLogical=*/true};
  TrainOptions options;
  EXPECT_TRUE(printed(outline, options)
                  .starts_with("  ranks       8 logical ranks on 2 processes "
                               "on here\n"));
  options.session.json = true;
  EXPECT_NE(printed(outline, options)
                .find(R"("to_step":88,"ranks":2,"logical_ranks":8,)"),
            std::string::npos);
}

TEST(TrainingOutline, IsAJsonLine) {
  TrainingOutline outline = twoEpochs();
  outline.remarks = {"images: 8 files of other kinds (.webp) left out"};
  TrainOptions options;
  options.session.json = true;
  options.checkpoint.path = "c.safetensors";
  EXPECT_EQ(
      printed(outline, options),
      R"({"data":{"samples":1408,"batch":32,"batches":44,"left_out":0},)"
      R"("from_step":0,"to_step":88,"ranks":1,"schedule":"","checkpoint":"c.safetensors",)"
      R"("remarks":["images: 8 files of other kinds (.webp) left out"]})"
      "\n");
}
