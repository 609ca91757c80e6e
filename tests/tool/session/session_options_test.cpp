// Opening an artifact as the command line says.

#include "tests/tool/adder.h"
#include "tool/failure.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::cli;

TEST(SessionOptions, ResumeTakesTheWholeState) {
  Adder adder;
  std::string checkpoint = adder.path + ".safetensors";
  float total[8] = {5, 5, 5, 5, 5, 5, 5, 5}, found[8] = {};
  auto session = adder.open();
  ASSERT_TRUE(session->writeState("total", total, sizeof(total)).ok());
  ASSERT_TRUE(session->saveCheckpoint(checkpoint).ok());
  SessionOptions options;
  options.artifact = adder.path;
  options.resume = checkpoint;
  ASSERT_TRUE(
      openSession(options)->readState("total", found, sizeof(found)).ok());
  std::filesystem::remove(checkpoint);
  EXPECT_EQ(found[3], 5);
}

TEST(SessionOptions, UseNoMoreThreadsThanCores) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(threadsToUse("--threads", 0, 2), 0);
  EXPECT_EQ(threadsToUse("--threads", 2, 2), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(threadsToUse("--data-threads", 8, 2), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: --data-threads 8: this process may use 2 cores (by its "
            "affinity and CPU quota), so it runs on as many threads\n");
}

TEST(SessionOptions, ListsTheGraphsThatThereAre) {
  Adder adder;
  auto session = adder.open();
  EXPECT_EQ(findGraph(*session, "evaluate"), 1);
  try {
    findGraph(*session, "tran");
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_THAT(
        failure.what(),
        testing::HasSubstr("has no graph 'tran'; it has train, evaluate"));
  }
}

TEST(SessionOptions, CountTheCallsOfAStep) {
  test::TestArtifact made;
  made.addTurns();
  auto session = Adder(made).open();
  EXPECT_EQ(callsPerStep(*session, findGraph(*session, "train")), 2);
  EXPECT_EQ(callsPerStep(*session, findGraph(*session, "evaluate")), 1);
}

TEST(SessionOptions, TellACheckpointOfAnotherProgram) {
  gradus::test::TestArtifact other;
  other.header.name = "subtractor";
  std::string checkpoint;
  {
    Adder subtractor(other);
    checkpoint = subtractor.path + ".safetensors";
    ASSERT_TRUE(subtractor.open()->saveCheckpoint(checkpoint).ok());
  }
  Adder adder;
  SessionOptions options;
  options.artifact = adder.path;
  options.resume = checkpoint;
  testing::internal::CaptureStderr();
  openSession(options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: " + checkpoint +
                " is a checkpoint of the program 'subtractor', but " +
                adder.path + " is of 'adder'\n");
  std::filesystem::remove(checkpoint);
}
