// Where ranks that train on their own meet.

#pragma once

#include <cstdint>

namespace gradus::cli {

/// Throws a Failure unless a run of `steps` steps ends, and is tested after
/// every `testEvery` (0: never), where ranks meet, which they do after every so
/// many steps: in between each has weights of its own.
void checkMeetings(int64_t every, int64_t steps, int64_t testEvery);

} // namespace gradus::cli
