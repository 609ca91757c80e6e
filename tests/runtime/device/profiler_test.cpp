// Names that a profiler gets; each test in a process of its own, as a profiler
// is looked for once.

#include "runtime/device/profiler.h"
#include "tests/this_build.h"

#include "runtime/session/session.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

struct ProfilerDeathTest : testing::Test {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static void listen() {
    setenv("NVTX_INJECTION64_PATH",
           GRADUS_BINARY_DIR "/tests/bin/stub_profiler.so", 1);
  }
};

/// A step, one command by command, and one whose commands are timed.
int runSteps() {
  auto session =
      Session::create(*Artifact::fromBytes(TestArtifact().bytes(), "adder"));
  if (!session.ok() || !(*session)->step(0).ok())
    return 1;
  (*session)->setProbe([](size_t, size_t) {});
  if (!(*session)->step(0).ok())
    return 2;
  (*session)->setProbe({});
  std::vector<int64_t> nanoseconds((*session)->graphs()[0].commands.size());
  (*session)->timeCommands(0, nanoseconds);
  return (*session)->step(0).ok() ? 0 : 3;
}

} // namespace

TEST_F(ProfilerDeathTest, GetsRangesOfStepsAndCommands) {
  listen();
  EXPECT_EXIT(std::exit(runSteps()), testing::ExitedWithCode(0),
              "^train step 0\ntrain step 1\n  total \\+= x \\(/add, "
              "/more\\)\n(  .*\n)+train step 2\n  total \\+= x \\(/add, "
              "/more\\)\n");
}

TEST_F(ProfilerDeathTest, IsNotNeeded) {
  for (const char *path : {"", "no-such-library.so", "libm.so.6"}) {
    setenv("NVTX_INJECTION64_PATH", path, 1);
    EXPECT_EXIT(std::exit(runSteps()), testing::ExitedWithCode(0), "^$");
  }
}
