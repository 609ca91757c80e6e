// Words for lengths that end between meetings.

#include "tool/train/meetings.h"

#include "tool/failure.h"

#include <limits>

namespace gradus::cli {

/// The nearest multiple that is not 0, and that can be counted.
static int64_t nearest(int64_t number, int64_t every) {
  int64_t below = number - number % every;
  bool isNearer = number % every >= every - number % every;
  bool fits = below <= std::numeric_limits<int64_t>::max() - every;
  return fits && (isNearer || below == 0) ? below + every : below;
}

void checkMeetings(int64_t every, int64_t steps, int64_t testEvery,
                   int64_t compareEvery) {
  if (every == 0)
    return;
  const char *own = " (distribution.every), and each has weights of its own "
                    "in between; take ";
  if (steps % every != 0)
    throw badInput("the run has ", steps, " steps, but ranks meet after every ",
                   every, own, "--steps ", nearest(steps, every));
  if (testEvery % every != 0)
    throw badInput("tests are due after every ", testEvery,
                   " steps, but ranks meet after every ", every, own,
                   "--eval-every ", nearest(testEvery, every), "steps");
  if (compareEvery % every != 0)
    throw badInput("--check-replicas ", compareEvery,
                   ": ranks meet after every ", every, " steps", own,
                   "--check-replicas ", nearest(compareEvery, every));
}

} // namespace gradus::cli
