// Words of errors about checkpoints, by how the run was told of them.

#include "tool/failure.h"
#include "tool/train/train_options.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <unistd.h>

using namespace gradus::cli;

TEST(TrainOptions, SayHowToRunBesideAnother) {
  CheckpointOptions options;
  options.path = testing::TempDir() + "/gradus_held." +
                 std::to_string(getpid()) + ".safetensors";
  auto held = holdCheckpoints(options, /*best=*/true);
  try {
    holdCheckpoints(options, /*best=*/false);
    FAIL() << "it is held";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kFailedWhileRunning);
    EXPECT_THAT(failure.what(),
                testing::EndsWith(" is writing it; wait until that has ended, "
                                  "or give this run another --checkpoint"));
  }
}

TEST(TrainOptions, NameACheckpointThatNobodyHasNamed) {
  TrainOptions options;
  options.session.artifact = "runs/lenet.gradus";
  chooseCheckpoint(options);
  EXPECT_EQ(options.checkpoint.path, "runs/lenet.safetensors");
  EXPECT_EQ(roleOf(options.checkpoint),
            "--checkpoint (not given: beside the artifact)");
  EXPECT_THAT(options.checkpoint.advice, testing::HasSubstr("--no-checkpoint"));
  options.checkpoint = {};
  options.checkpoint.path = "mine.safetensors";
  chooseCheckpoint(options);
  EXPECT_EQ(roleOf(options.checkpoint), "--checkpoint");
}
