// The promise of docs/contracts.md: damage is an error or harmless, never a
// crash. GRADUS_TORTURE=minutes makes it long.

#include "mutations.h"
#include "test_artifact.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace gradus::test {

/// Seconds for one of the two kinds.
static double budget() {
  const char *minutes = std::getenv("GRADUS_TORTURE");
  return minutes ? std::atof(minutes) * 60 : 1.5;
}

static MutationCounts torture(Hashes hashes) {
  using Clock = std::chrono::steady_clock;
  TestArtifact artifact;
  artifact.addGpuPlan();
  auto file = artifact.bytes();
  auto end = Clock::now() + std::chrono::duration<double>(budget());
  MutationCounts counts;
  for (int64_t first = 0; first < 2000 || Clock::now() < end; first += 500)
    if (auto wrong = runMutations(file, hashes, 1, first, 500, counts);
        !wrong.empty()) {
      ADD_FAILURE() << wrong;
      break;
    }
  return counts;
}

TEST(Mutations, EveryChangeIsNoticed) {
  auto counts = torture(Hashes::stored);
  EXPECT_GT(counts.refused, 1900); // some mutations change nothing
}

TEST(Mutations, AForgedArtifactIsRefusedOrRunsWithoutHarm) {
  auto counts = torture(Hashes::recomputed);
  EXPECT_GT(counts.refused, 100);
  EXPECT_GT(counts.ran, 100);
}

} // namespace gradus::test
