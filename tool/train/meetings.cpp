// Words for lengths that end between meetings.

#include "tool/train/meetings.h"

#include "tool/failure.h"

#include <algorithm>

namespace gradus::cli {

/// The nearest multiple that is not 0.
static int64_t nearest(int64_t number, int64_t every) {
  return std::max(every, (number + every / 2) / every * every);
}

void checkMeetings(int64_t every, int64_t steps, int64_t testEvery) {
  const char *own = " (distribution.every), and each has weights of its own "
                    "in between; take ";
  if (steps % every != 0)
    throw badInput("the run has ", steps, " steps, but ranks meet after every ",
                   every, own, "--steps ", nearest(steps, every));
  if (testEvery % every != 0)
    throw badInput("tests are due after every ", testEvery,
                   " steps, but ranks meet after every ", every, own,
                   "--eval-every ", nearest(testEvery, every), "steps");
}

} // namespace gradus::cli
