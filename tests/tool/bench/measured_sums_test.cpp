#include "tool/bench/measured_sums.h"

#include "tests/runtime/collectives/ranks.h"

using namespace gradus::cli;
using namespace gradus::runtime;

TEST(MeasuredSums, TellWhatIsSentAndWhenEachWasUnderWay) {
  std::vector<OpenCommunicator> openers = inProcess(2);
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : openers)
    threads.emplace_back([&open] {
      auto started = CommunicationThread::start(open, patient());
      ASSERT_TRUE(started.ok()) << started.status();
      std::shared_ptr<CommunicationThread> thread = *std::move(started);
      MeasuredSums sums(thread, MeasuredSums::Clock::now());
      EXPECT_EQ(sums.ranks(), 2);
      std::vector<float> large(4096, 1), small(4, 2);
      uint64_t one = sums.begin({.data = large.data(), .count = large.size()}),
               two = sums.begin({.data = small.data(), .count = small.size()});
      EXPECT_TRUE(sums.take().empty());
      EXPECT_TRUE(sums.finish(one).ok());
      EXPECT_TRUE(sums.finish(two).ok());
      EXPECT_EQ(small[3], 4);
      auto measured = sums.take();
      ASSERT_EQ(measured.size(), 2u);
      EXPECT_EQ(measured[0].name, "all-reduce of 4096 f32");
      // 2 n (N - 1) / N of a large one; a small one travels whole.
      EXPECT_EQ(measured[0].bytesSent, 4096u * 4);
      EXPECT_EQ(measured[1].bytesSent, 4u * 4);
      for (const MeasuredSum &sum : measured) {
        EXPECT_LE(0, sum.begun);
        EXPECT_LE(sum.begun, sum.started);
        EXPECT_LE(sum.started, sum.ended);
        EXPECT_LE(0, sum.waited);
        EXPECT_LE(sum.waited, sum.ended - sum.begun);
      }
      EXPECT_LE(measured[0].ended, measured[1].started) << "one after another";
      EXPECT_TRUE(sums.take().empty());
      EXPECT_TRUE(thread->end().ok());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(MeasuredSums, WhatIsNotWaitedForIsHidden) {
  SumCosts costs =
      costsOf({{"", 100, 0, 1000, 4000, 500}, {"", 50, 0, 4000, 5000, 1000}});
  EXPECT_EQ(costs.bytesSent, 150u);
  EXPECT_DOUBLE_EQ(costs.transferred, 5e-6);
  EXPECT_DOUBLE_EQ(costs.exposed, 1.5e-6);
  EXPECT_DOUBLE_EQ(costs.hidden, 3.5e-6);
}

TEST(MeasuredSums, AreToldInWords) {
  SumCosts costs{.bytesSent = 1024, .transferred = 4e-3, .exposed = 1e-3};
  costs.hidden = 3e-3;
  EXPECT_EQ(
      textOfSums(costs.toJson()),
      "rank 0 sends 1.0 KiB; 4.000 ms under way, of them 3.000 ms hidden, "
      "1.000 ms exposed");
}
