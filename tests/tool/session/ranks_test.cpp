// Options of ranks, and how ranks end together.

#include "tool/failure.h"
#include "tool/session/ranks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <sys/resource.h>
#include <thread>

using namespace gradus;
using namespace gradus::cli;
using testing::HasSubstr;

namespace {

struct RanksTest : testing::Test {
  void SetUp() override {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                             "PMI_SIZE", "PMI_RANK", "SLURM_STEP_NUM_TASKS"})
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  /// What the words make of the options; an error's words for wrong ones.
  std::string parse(const std::string &words) {
    CLI::App app;
    options = {};
    addRankOptions(app, options);
    try {
      app.parse(words);
    } catch (const CLI::ParseError &error) {
      return error.what();
    }
    return "";
  }

  /// The failure of a command on three simulated ranks, and what is printed.
  std::optional<Failure>
  failureOf(const std::function<void(const Ranks &)> &command) {
    options.simulate = 3;
    testing::internal::CaptureStderr();
    std::optional<Failure> found;
    try {
      runOnRanks(options, command);
    } catch (const Failure &failure) {
      found = failure;
    }
    printed = testing::internal::GetCapturedStderr();
    return found;
  }

  /// Runs nothing, and returns the words of the refusal.
  std::string refusal() {
    try {
      runOnRanks(options, [](const Ranks &) { ADD_FAILURE(); });
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.code, kBadInput);
      return failure.what();
    }
    return "";
  }

  RankOptions options;
  std::string printed;
};

} // namespace

TEST_F(RanksTest, HaveANetworkOfRateAndLatency) {
  EXPECT_EQ(parse("--simulate-ranks 4 --network 25GB/s,5us"), "");
  EXPECT_EQ(options.network.bytesPerSecond, 25e9);
  EXPECT_EQ(options.network.latency, std::chrono::microseconds(5));
}

TEST_F(RanksTest, AreStartedOrSimulated) {
  EXPECT_NE(parse("--ranks 2 --simulate-ranks 2"), "");
  EXPECT_NE(parse("--ranks 0"), "");
  EXPECT_NE(parse("--simulate-ranks 65"), "");
  EXPECT_NE(parse("--network 1GB/s"), "") << "of which ranks?";
  EXPECT_EQ(parse("--ranks 2 --rank-timeout 3.5"), "");
  EXPECT_EQ(options.start, 2);
  EXPECT_EQ(options.limit, 3.5);
}

TEST_F(RanksTest, AreWaitedForSoManySeconds) {
  EXPECT_EQ(options.limit, 10);
  EXPECT_EQ(parse("--rank-timeout 0.5"), "");
  EXPECT_EQ(options.limit, 0.5);
  for (const char *wrong :
       {"0", "0.49", "-1", "86401", "nan", "inf", "ten", "10s", "1min"})
    EXPECT_EQ(parse(std::string("--rank-timeout=") + wrong),
              std::string("--rank-timeout: expected a number of seconds from "
                          "0.5 to 86400, found ") +
                  wrong);
}

TEST_F(RanksTest, MayBeOne) {
  bool ran = false;
  options.start = 1;
  runOnRanks(options, [&](const Ranks &ranks) {
    ran = true;
    EXPECT_TRUE(ranks.isAlone());
    EXPECT_TRUE(ranks.isFirst());
    EXPECT_EQ(ranks.count(), 1);
    EXPECT_EQ(ranks.text(), "");
    EXPECT_EQ(ranks.threads(0), 0);
    EXPECT_EQ(ranks.fromFirst("mine"), "mine");
    ranks.agree({{"a", "1"}});
    ranks.doing("nothing");
  });
  EXPECT_TRUE(ran);
}

TEST_F(RanksTest, AreThreadsWithNumbers) {
  std::mutex mutex;
  std::vector<int> seen;
  options.simulate = 3;
  runOnRanks(options, [&](const Ranks &ranks) {
    EXPECT_EQ(ranks.count(), 3);
    EXPECT_EQ(ranks.text(), "3, simulated by threads of this process");
    EXPECT_GE(ranks.threads(0), 1);
    EXPECT_EQ(ranks.threads(5), 5);
    EXPECT_EQ(ranks.fromFirst(std::to_string(ranks.rank())), "0");
    ranks.agree({{"a", "1"}});
    std::lock_guard lock(mutex);
    seen.push_back(ranks.rank());
  });
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2));
}

TEST_F(RanksTest, AreNoMoreThanFilesMayBeOpen) {
  options.simulate = 64;
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit low = {143, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  std::string words = refusal();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(words,
              HasSubstr("--simulate-ranks 64: needs up to 144 open files, and "
                        "the limit is 143 (RLIMIT_NOFILE); "));
}

TEST_F(RanksTest, EndTogetherWithOneLine) {
  for (int wrong : {0, 2}) {
    auto failure = failureOf([&](const Ranks &ranks) {
      if (ranks.rank() == wrong)
        throw badInput("x.png: is no image");
      ranks.agree({{"a", "1"}}); // a rank that goes on hears of it
      ADD_FAILURE();
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, kBadInput);
    EXPECT_STREQ(failure->what(), "") << "it is printed already";
    EXPECT_EQ(printed, "gradus: rank " + std::to_string(wrong) +
                           " (this process): x.png: is no image\n");
  }
}

/// Each throws words and a code of its own, at once; one is what all have.
TEST_F(RanksTest, ThatAllFailEndWithOneLine) {
  std::atomic<int> ready = 0;
  auto failure = failureOf([&](const Ranks &ranks) {
    for (++ready; ready < 3;)
      std::this_thread::yield();
    throw Failure(ranks.rank() == 1 ? kBadInput : kFailedWhileRunning,
                  "mine of " + std::to_string(ranks.rank()));
  });
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->what(), "");
  EXPECT_THAT(printed,
              testing::MatchesRegex("gradus: rank ([012]) \\(this process\\): "
                                    "mine of [012]\n"));
  EXPECT_EQ(failure->code, printed.find("rank 1") == std::string::npos
                               ? kFailedWhileRunning
                               : kBadInput);
}

/// As where rank 2 could not read its data and all have settled on that.
TEST_F(RanksTest, ThatShareAFailureLeaveItToTheFirst) {
  auto failure = failureOf([](const Ranks &) {
    throw SharedFailure(badInput("rank 2 (this process): x.png: is no image"));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, kBadInput);
  EXPECT_EQ(printed + failure->what(),
            "gradus: rank 2 (this process): x.png: is no image\n");
}

/// Nobody has died, so nothing is said about what is left.
TEST_F(RanksTest, HaveAdviceForADeathAlone) {
  auto failure = failureOf([](const Ranks &ranks) {
    ranks.adviseWhenOneDies([] { return "; the last checkpoint is x"; });
    throw failed("no space");
  });
  ASSERT_TRUE(failure);
  EXPECT_THAT(printed, testing::EndsWith(": no space\n"));
}

TEST_F(RanksTest, HearOfAFailureAtTheirEnd) {
  auto failure = failureOf([](const Ranks &ranks) {
    if (ranks.rank() == 1)
      throw std::runtime_error("no space");
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, kFailedWhileRunning);
  EXPECT_THAT(printed + failure->what(),
              HasSubstr("rank 1 (this process): no space"));
}

TEST_F(RanksTest, ThatAreRefusedTogetherSaySoOnce) {
  auto failure = failureOf([](const Ranks &ranks) {
    ranks.agree({{"the seed", std::to_string(ranks.rank())}});
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, kBadInput);
  EXPECT_EQ(printed + failure->what(),
            "gradus: the seed is 0 on rank 0 (this process), and 1 on rank 1 "
            "(this process)\n");
}

TEST_F(RanksTest, ThatAreInterruptedTogetherHaveOneLine) {
  auto failure = failureOf([](const Ranks &ranks) {
    throw SharedFailure(Failure(
        kInterrupted, "interrupted on " + std::to_string(ranks.rank())));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, kInterrupted);
  EXPECT_EQ(printed + failure->what(), "gradus: interrupted on 0\n");
}

/// A signal reaches one of them, which comes to no border with the others.
TEST_F(RanksTest, EndWhereOneIsInterrupted) {
  auto failure = failureOf([](const Ranks &ranks) {
    if (ranks.rank() == 1)
      throw Failure(kInterrupted, "interrupted");
    ranks.agree({{"a", "1"}});
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, kInterrupted);
  EXPECT_EQ(printed + failure->what(),
            "gradus: rank 1 (this process): interrupted\n");
}

TEST_F(RanksTest, AreAsManyAsTheLauncherHasStarted) {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  options.start = 3;
  EXPECT_EQ(refusal(), "--ranks 3: a launcher has started 2 processes "
                       "(OMPI_COMM_WORLD_SIZE); leave --ranks out");
  options = {};
  options.simulate = 3;
  EXPECT_EQ(refusal(),
            "--simulate-ranks 3: a launcher has started 2 processes "
            "(OMPI_COMM_WORLD_SIZE); simulated ranks are threads of one");
}
