// The least of several turns counts, as other processes only take time.

#include "tool/bench/sum_rate.h"

#include "runtime/collectives/communication_thread.h"
#include "runtime/collectives/in_process.h"
#include "runtime/collectives/rounds.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

using namespace gradus::runtime;

namespace gradus::cli {

namespace {

constexpr uint64_t kSmall = 16, kLarge = uint64_t{1} << 20; // elements of f32
constexpr int kTurns = 12;

/// The least time of a sum; infinite where one fails. All ranks call it.
double leastTime(CommunicationThread &thread, std::vector<float> &values,
                 uint64_t count) {
  double least = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < kTurns; ++turn) {
    auto began = std::chrono::steady_clock::now();
    if (!thread.finish(thread.begin({.data = values.data(), .count = count}))
             .ok())
      return std::numeric_limits<double>::infinity();
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - began;
    least = std::min(least, took.count());
  }
  return least;
}

struct Times {
  double small = std::numeric_limits<double>::infinity(), large = small;
};

Times timesOfRank(const OpenCommunicator &open) {
  auto thread = CommunicationThread::start(open, {});
  if (!thread.ok())
    return {};
  std::vector<float> values(kLarge);
  Times times;
  times.small = leastTime(**thread, values, kSmall);
  times.large = leastTime(**thread, values, kLarge);
  (void)(*thread)->end();
  return times;
}

} // namespace

SumRate measureSumRate() {
  std::vector<OpenCommunicator> openers = inProcess(2);
  Times times;
  try {
    std::jthread other([&] { (void)timesOfRank(openers[1]); });
    times = timesOfRank(openers[0]);
  } catch (const std::system_error &) {
    return {};
  }
  uint64_t bytes = bytesSent({.count = kLarge}, 2, 0);
  if (!(times.large < std::numeric_limits<double>::infinity()) ||
      times.large <= times.small)
    return {};
  return {static_cast<double>(bytes) / (times.large - times.small),
          times.small};
}

} // namespace gradus::cli
