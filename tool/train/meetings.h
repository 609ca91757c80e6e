// Where ranks that train on their own meet.

#pragma once

#include <cstdint>

namespace gradus::cli {

/// Throws a Failure unless a run of `steps` steps ends, is tested after every
/// `testEvery` and compares its ranks after every `compareEvery` (0: never)
/// where ranks meet, which they do after every so many steps: in between each
/// has weights of its own. 0: they share each update.
void checkMeetings(int64_t every, int64_t steps, int64_t testEvery,
                   int64_t compareEvery);

} // namespace gradus::cli
