// Nests made at random against their definition. GRADUS_SEEDS=N tries N times
// as many.

#include "tests/codegen/plan/nest_reference.h"
#include "tests/codegen/random_nests.h"

using namespace gradus::test;

TEST(CpuRandomNests, DoWhatTheySay) {
  const char *times = std::getenv("GRADUS_SEEDS");
  unsigned count = 12 * (times ? std::atoi(times) : 1);
  for (unsigned first = 0; first < count; first += 12) {
    std::string text;
    for (unsigned seed = first; seed < first + 12; ++seed)
      text += RandomNest(seed).text("random" + std::to_string(seed));
    KernelCheck check;
    check.tolerance = 1e-4;
    check.run(text);
  }
}
