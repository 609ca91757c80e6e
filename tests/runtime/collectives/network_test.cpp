#include "runtime/collectives/network.h"

#include "tests/runtime/collectives/ranks.h"

using namespace gradus::runtime;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t kFloats = 192 * 1024; // divides into 2, 3, 4 and 6 parts

/// Microseconds of a sum of so many floats.
double timeOf(uint64_t floats, int ranks, Network network) {
  std::chrono::duration<double, std::micro> time =
      allReduceTime(network, {.count = floats}, ranks);
  return time.count();
}

} // namespace

TEST(Link, BringsOneTransferAfterTheOther) {
  Network network{1e9, 5us};
  Link link;
  Link::Time start{1s};
  EXPECT_EQ(link.arrival(network, start, 1000), start + 6us);
  EXPECT_EQ(link.arrival(network, start, 2000), start + 8us)
      << "the latencies of both pass at once";
  EXPECT_EQ(link.arrival(network, start + 10us, 1000), start + 16us)
      << "it was free";
  EXPECT_EQ(Link().arrival({0, 5us}, start, 1000), start + 5us)
      << "as fast as memory";
}

TEST(AllReduceTime, IsThatOfTheBytesThatEachRankSends) {
  double whole = 4 * kFloats / 1e9 * 1e6;
  for (int ranks : {2, 3, 4, 6})
    EXPECT_NEAR(timeOf(kFloats, ranks, {1e9, 0ns}),
                2 * whole * (ranks - 1) / ranks, 0.02)
        << ranks;
  EXPECT_EQ(timeOf(kFloats, 1, {1e9, 5us}), 0);
}

TEST(AllReduceTime, HasALatencyForEachRound) {
  for (auto [ranks, rounds] : {std::pair(2, 2), {4, 4}, {8, 6}, {3, 2}, {6, 2}})
    EXPECT_EQ(timeOf(kFloats, ranks, {0, 5us}), 5 * rounds) << ranks;
  for (auto [ranks, rounds] : {std::pair(2, 1), {4, 2}, {8, 3}, {3, 1}, {6, 1}})
    EXPECT_EQ(timeOf(1024, ranks, {0, 5us}), 5 * rounds) << "whole buffers";
  // All of six ranks send the whole buffer to five.
  EXPECT_NEAR(timeOf(1000, 6, {1e9, 5us}), 5 + 5 * 4.0, 0.01);
}

/// Two pieces of half a MiB are under way at a time while parts are added.
TEST(AllReduceTime, WaitsForPiecesOverLongWays) {
  constexpr uint64_t kMiB = 1 << 18; // floats
  EXPECT_EQ(timeOf(2 * kMiB, 2, {0, 1ms}), 2000);
  EXPECT_EQ(timeOf(4 * kMiB, 2, {0, 1ms}), 3000);
  EXPECT_EQ(timeOf(8 * kMiB, 2, {0, 1ms}), 5000);
}

/// A simulated network makes its ranks wait as long, and the machine adds to
/// it.
TEST(AllReduceTime, IsWhatASimulationTakesAtLeast) {
  Network slow{20e6, 2ms};
  for (int ranks : {2, 3, 4}) {
    auto least = allReduceTime(slow, {.count = kFloats}, ranks);
    EXPECT_GT(least, 35ms);
    onRanks(inProcess(ranks, slow), [&](CommunicationThread &rank) {
      Bytes bytes = valuesOf(DType::f32, kFloats, rank.rank());
      uint64_t number = rank.begin({.data = bytes.data(), .count = kFloats});
      EXPECT_TRUE(rank.finish(number).ok());
      auto times = rank.timesOf(number);
      EXPECT_GE(times.ended - times.started, least) << ranks;
    });
  }
}
