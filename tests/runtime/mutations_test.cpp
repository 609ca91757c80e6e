// The promise of docs/contracts.md: damage is an error or harmless, never a
// crash. `./dev fuzz` has the same changes for as long as one likes.

#include "mutations.h"
#include "test_artifact.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gradus::test {

/// For one of the two kinds.
constexpr std::chrono::milliseconds kBudget(1500);

static MutationCounts mutate(Hashes hashes) {
  using Clock = std::chrono::steady_clock;
  TestArtifact artifact;
  artifact.addGpuPlan();
  auto file = artifact.bytes();
  auto end = Clock::now() + kBudget;
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
  auto counts = mutate(Hashes::stored);
  EXPECT_GT(counts.refused, 1900); // some mutations change nothing
}

TEST(Mutations, AForgedArtifactIsRefusedOrRunsWithoutHarm) {
  auto counts = mutate(Hashes::recomputed);
  EXPECT_GT(counts.refused, 100);
  EXPECT_GT(counts.ran, 100);
}

} // namespace gradus::test
