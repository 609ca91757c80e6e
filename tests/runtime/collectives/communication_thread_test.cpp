#include "runtime/collectives/communication_thread.h"

#include "tests/runtime/allocations.h"
#include "tests/runtime/collectives/ranks.h"

#include <csignal>
#include <future>

using namespace gradus::runtime;

namespace {

Status sum(CommunicationThread &rank, float &value) {
  return rank.finish(rank.begin({.data = &value, .count = 1}));
}

/// Runs a function on each rank in a thread of its own, and leaves it to the
/// function how the group ends.
void onThreads(
    int ranks,
    const std::function<void(std::unique_ptr<CommunicationThread>)> &run) {
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : inProcess(ranks))
    threads.emplace_back(
        [&run, open] { run(*CommunicationThread::start(open, patient())); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

TEST(CommunicationThread, RunsWhatIsBegunInOrder) {
  onRanks(inProcess(3), [](CommunicationThread &rank) {
    EXPECT_EQ(rank.ranks(), 3);
    EXPECT_EQ(rank.host(2), "this process");
    float value = 1, other = static_cast<float>(rank.rank());
    // Each of them works on what the one before has made.
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 4; ++i)
      numbers.push_back(rank.begin({.data = &value, .count = 1}));
    numbers.push_back(rank.begin({.data = &other, .count = 1}));
    EXPECT_EQ(numbers.back(), 4u);
    EXPECT_TRUE(rank.finish(numbers.back()).ok());
    EXPECT_TRUE(rank.finish(numbers[0]).ok());
    EXPECT_EQ(value, 81);
    EXPECT_EQ(other, 3);
  });
}

/// Their messages may mean something else.
TEST(CommunicationThread, RefusesOtherBuildsOnAllRanks) {
  struct Built final : Passing {
    using Passing::Passing;
    std::string build(int rank) const override {
      return rank == 2 ? "0.2" : "0.1";
    }
  };
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : inProcess(3))
    threads.emplace_back([open] {
      auto opened = [open]() -> StatusOr<std::unique_ptr<Communicator>> {
        return std::unique_ptr<Communicator>(std::make_unique<Built>(*open()));
      };
      Status status = CommunicationThread::start(opened, patient()).status();
      EXPECT_EQ(status.code(), StatusCode::invalid);
      EXPECT_EQ(status.message(),
                "rank 2 (this process) runs Gradus 0.2, and rank 0 (this "
                "process) runs Gradus 0.1: start the same build on all hosts");
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CommunicationThread, RunsMoreThanItsRingHolds) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    std::vector<float> values(CommunicationThread::kMostBegun + 100, 1);
    for (float &value : values)
      rank.begin({.data = &value, .count = 1});
    EXPECT_TRUE(rank.finish(values.size() - 1).ok());
    EXPECT_EQ(values, std::vector<float>(values.size(), 2));
  });
}

/// The type belongs to what was begun, not to the thread: a metric of f32
/// between gradients of f16 changes neither.
TEST(CommunicationThread, AddsEachSumInItsOwnType) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    for (int step = 0; step < 3; ++step) {
      std::vector<_Float16> gradients(3000, _Float16(0.5)), more = gradients;
      std::vector<float> metrics(3, 1e-8f);
      std::vector<uint64_t> numbers = {
          rank.begin({.type = DType::f16,
                      .data = gradients.data(),
                      .count = gradients.size()}),
          rank.begin({.data = metrics.data(), .count = metrics.size()}),
          rank.begin(
              {.type = DType::f16, .data = more.data(), .count = more.size()})};
      for (uint64_t number : numbers)
        EXPECT_TRUE(rank.finish(number).ok());
      EXPECT_EQ(gradients, std::vector<_Float16>(3000, _Float16(1)));
      EXPECT_EQ(more, gradients);
      EXPECT_EQ(metrics, std::vector<float>(3, 2e-8f));
    }
  });
}

/// Heartbeats do, once a second.
TEST(CommunicationThread, AllocatesNothingInSteps) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    std::vector<float> small(100), large(100000);
    auto step = [&] {
      uint64_t one = rank.begin({.data = small.data(), .count = 100});
      uint64_t two = rank.begin({.data = large.data(), .count = 100000});
      EXPECT_TRUE(rank.finish(one).ok() && rank.finish(two).ok());
    };
    for (int i = 0; i < 3; ++i)
      step();
    int64_t before = gradus::test::allocations();
    for (int i = 0; i < 300; ++i)
      step();
    EXPECT_LT(gradus::test::allocations() - before, 150);
  });
}

TEST(CommunicationThread, KnowsWhenAllHappened) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    auto before = CommunicationThread::Clock::now();
    float value = 1;
    EXPECT_TRUE(sum(rank, value).ok());
    auto times = rank.timesOf(0);
    EXPECT_LE(before, times.begun);
    EXPECT_LE(times.begun, times.started);
    EXPECT_LE(times.started, times.ended);
    EXPECT_LE(times.ended, CommunicationThread::Clock::now());
  });
}

TEST(CommunicationThread, LeavesOneRankAlone) {
  onRanks(inProcess(1), [](CommunicationThread &rank) {
    float value = 5;
    EXPECT_TRUE(sum(rank, value).ok());
    EXPECT_EQ(value, 5);
    uint64_t refused =
        rank.begin({.op = CollectiveOp::broadcast, .data = &value, .count = 1});
    EXPECT_TRUE(rank.finish(refused).ok());
    EXPECT_TRUE(rank.run([](Liveness &) { return Status(); }).ok());
  });
}

TEST(CommunicationThread, TellsWhyItIsNotThere) {
  auto rank = CommunicationThread::start(
      []() -> StatusOr<std::unique_ptr<Communicator>> {
        return failed("no network");
      },
      patient());
  EXPECT_EQ(rank.status().message(), "no network");
}

TEST(CommunicationThread, ReturnsTheFirstFailureEverywhere) {
  onThreads(3, [](std::unique_ptr<CommunicationThread> rank) {
    const std::string words = "rank 2 (this process): cat.png: no image";
    float value = 1;
    if (rank->rank() == 2) {
      EXPECT_EQ(rank->fail(invalid("cat.png: no image")).message(), words);
    } else {
      EXPECT_EQ(sum(*rank, value).message(), words);
      EXPECT_EQ(rank->fail(failed("a consequence")).message(), words);
    }
    for (size_t i = 0; i < CommunicationThread::kMostBegun + 10; ++i)
      rank->begin({.data = &value, .count = 1});
    EXPECT_EQ(rank->finish(CommunicationThread::kMostBegun).message(), words);
    EXPECT_EQ(rank->end().code(), StatusCode::invalid);
  });
}

/// All fail at once, each with words and a code of its own; each may be the
/// first.
TEST(CommunicationThread, ReturnsOneFailureWhereAllFail) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Status> found(4);
    std::atomic<int> ready = 0;
    std::atomic<int> speaking = 0;
    onThreads(4, [&](std::unique_ptr<CommunicationThread> rank) {
      int own = rank->rank();
      Status words(own % 2 ? StatusCode::invalid : StatusCode::failed,
                   inWords("mine of ", own));
      for (++ready; ready < 4;)
        std::this_thread::yield();
      Status &all = found[static_cast<size_t>(own)];
      all = rank->fail(words);
      speaking += rank->claimWords();
      EXPECT_EQ(rank->dead(), -1);
      EXPECT_EQ(rank->end().message(), all.message());
    });
    EXPECT_EQ(speaking, 1);
    for (const Status &each : found) {
      EXPECT_EQ(each.message(), found[0].message());
      EXPECT_EQ(each.code(), found[0].code());
    }
  }
}

/// The program of the lowest rank does not look at its failure until the other
/// one has ended.
TEST(CommunicationThread, SpeaksForARankThatIsBusy) {
  std::vector<OpenCommunicator> openers = inProcess(2);
  LivenessOptions options{
      std::chrono::milliseconds(500), std::chrono::minutes(5), {}};
  std::promise<void> hasEnded;
  std::thread busy([&] {
    auto rank = *CommunicationThread::start(openers[0], options);
    hasEnded.get_future().wait();
    EXPECT_FALSE(rank->fail(failed("a consequence")).ok());
    EXPECT_FALSE(rank->claimWords()) << "the other one has done it";
    EXPECT_FALSE(rank->end().ok());
    EXPECT_FALSE(rank->claimWords());
  });
  auto rank = *CommunicationThread::start(openers[1], options);
  EXPECT_FALSE(rank->fail(invalid("no.npz: no such file")).ok());
  EXPECT_FALSE(rank->claimWords());
  EXPECT_EQ(rank->end().message(),
            "rank 1 (this process): no.npz: no such file");
  EXPECT_TRUE(rank->claimWords());
  hasEnded.set_value();
  busy.join();
}

/// Also while the rank that fails is in a collective.
TEST(CommunicationThread, FailsInTheMiddleOfACollective) {
  onThreads(2, [](std::unique_ptr<CommunicationThread> rank) {
    if (rank->rank() == 1)
      return; // destroyed without a word
    float value = 1;
    uint64_t number = rank->begin({.data = &value, .count = 1});
    EXPECT_EQ(rank->finish(number).message(),
              "rank 1 (this process): has ended without a word");
    EXPECT_FALSE(rank->end().ok());
  });
  onThreads(2, [](std::unique_ptr<CommunicationThread> rank) {
    float value = 1;
    if (rank->rank() == 0) {
      uint64_t number = rank->begin({.data = &value, .count = 1});
      EXPECT_FALSE(rank->fail(failed("the disk is full")).ok());
      EXPECT_FALSE(rank->finish(number).ok());
      EXPECT_FALSE(rank->end().ok());
    } else {
      EXPECT_EQ(rank->end().message(),
                "rank 0 (this process): the disk is full");
    }
  });
}

/// A launcher kills the others when one has ended, so it waits for them to say
/// what has happened.
TEST(CommunicationThread, PartsOnceAllHaveSpoken) {
  std::atomic<bool> hasSpoken = false;
  onThreads(2, [&](std::unique_ptr<CommunicationThread> rank) {
    float value = 1;
    if (rank->rank() == 1) {
      EXPECT_FALSE(rank->fail(failed("the disk is full")).ok());
      EXPECT_FALSE(rank->end().ok());
      EXPECT_TRUE(hasSpoken);
    } else {
      EXPECT_FALSE(sum(*rank, value).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      hasSpoken = true;
      EXPECT_FALSE(rank->end().ok());
    }
  });
}

TEST(CommunicationThread, RefusesCollectivesAfterTheEnd) {
  auto rank = *CommunicationThread::start(inProcess(1)[0], patient());
  EXPECT_TRUE(rank->end().ok());
  EXPECT_TRUE(rank->end().ok());
  float value = 1;
  uint64_t late =
      rank->begin({.type = DType::boolean, .data = &value, .count = 1});
  EXPECT_EQ(rank->finish(late).message(),
            "a collective was begun after the end of all");
}

TEST(CommunicationThread, HandlesNoSignals) {
  onRanks(inProcess(1), [](CommunicationThread &rank) {
    sigset_t blocked;
    sigemptyset(&blocked);
    EXPECT_TRUE(rank.run([&](Liveness &) {
                      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
                      return Status();
                    })
                    .ok());
    EXPECT_TRUE(sigismember(&blocked, SIGTERM));
    EXPECT_TRUE(sigismember(&blocked, SIGINT));
  });
}

/// Two buckets in flight over 1,000 steps, with delays in the transport: each
/// step's sums are what they must be.
TEST(CommunicationThread, AddsTheSameWithRandomDelays) {
  std::vector<std::vector<float>> ends;
  for (int latest : {0, 20}) {
    ends.emplace_back();
    onRanks(
        meddling(inProcess(2), {7, latest}), [&](CommunicationThread &rank) {
          constexpr size_t kSize = 64;
          std::vector<float> first(kSize), second(kSize), weights(2 * kSize);
          for (int step = 0; step < 1000; ++step) {
            for (size_t i = 0; i < kSize; ++i) {
              first[i] =
                  weights[i] * 0.9f + static_cast<float>(rank.rank()) / 3;
              second[i] = weights[kSize + i] / 7 + static_cast<float>(i) / 11;
            }
            uint64_t one = rank.begin({.data = first.data(), .count = kSize});
            uint64_t two = rank.begin({.data = second.data(), .count = kSize});
            ASSERT_TRUE(rank.finish(one).ok());
            for (size_t i = 0; i < kSize; ++i)
              weights[i] += first[i] * 1e-3f;
            ASSERT_TRUE(rank.finish(two).ok());
            for (size_t i = 0; i < kSize; ++i)
              weights[kSize + i] -= second[i] * 1e-3f;
          }
          if (rank.rank() == 0)
            ends.back() = weights;
        });
  }
  EXPECT_EQ(ends[0], ends[1]);
}
