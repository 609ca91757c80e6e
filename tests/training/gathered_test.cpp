// How far an update has come, as counters of the artifact say.

#include "runtime/well_known.h"
#include "tests/training/adding.h"
#include "training/gathered.h"

using namespace gradus;
using namespace gradus::training;

namespace {

/// The batches that an adder has gathered after `step` steps.
int64_t gathered(int64_t perUpdate, int64_t step,
                 const char *counter = well_known::kStep) {
  test::TestArtifact artifact;
  artifact.header.states[2]->name = counter;
  test::Adding adding(artifact);
  EXPECT_TRUE(adding.session->writeState(counter, &step, sizeof(step)).ok());
  return gatheredBatches(*adding.session, perUpdate);
}

} // namespace

TEST(Gathered, IsWhatCameSinceTheLastUpdate) {
  EXPECT_EQ(gathered(3, 6), 0);
  EXPECT_EQ(gathered(3, 8), 2);
  EXPECT_EQ(gathered(1, 8), 0);
}

/// Steps that were skipped gather nothing.
TEST(Gathered, CountsAcceptedSteps) {
  EXPECT_EQ(gathered(3, 4, well_known::kAcceptedSteps), 1);
}

TEST(Gathered, IsOfCounters) {
  test::Adding adding;
  EXPECT_EQ(counterOf(*adding.session, "step"), 0);
  EXPECT_FALSE(counterOf(*adding.session, "total")) << "floats";
  EXPECT_FALSE(counterOf(*adding.session, "no such state"));
}
