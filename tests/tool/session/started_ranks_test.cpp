// How mpirun is called, and what becomes of it. A script stands for it: that
// ranks train is tested end to end (tests/end_to_end/ranks/commands_test.py).

#include "runtime/collectives/open_mpi.h"
#include "runtime/cpu/cores.h"
#include "tests/this_build.h"
#include "tests/training/data/files.h"
#include "tool/command_line.h"
#include "tool/failure.h"
#include "tool/session/started_ranks.h"

#include <gmock/gmock.h>

#include <csignal>
#include <sys/resource.h>
#include <thread>

using namespace gradus::cli;
using gradus::data::Folder;
using testing::HasSubstr;

namespace {

constexpr int kTooSlow = 77; // no code of ours

struct StartedRanks : testing::Test {
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("GRADUS_MPI_LIBRARY", GRADUS_BINARY_DIR "/lib/libgradus_mpi.so", 1);
    if (auto open = gradus::runtime::openMpi(); !open.ok())
      GTEST_SKIP() << open.status();
    rememberCommandLine(4, words);
    path = getenv("PATH");
    setenv("PATH", (folder.path("") + ":" + path).c_str(), 1);
  }
  void TearDown() override {
    rememberCommandLine(0, nullptr);
    if (!path.empty())
      setenv("PATH", path.c_str(), 1);
  }

  /// Puts a script in mpirun's place.
  void beMpirun(const std::string &script) {
    std::string file = folder.write("mpirun", "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  /// The exit code of ranks that are started, 0 where all is well.
  static int code(int ranks) {
    try {
      startRanks(ranks);
    } catch (const Failure &failure) {
      EXPECT_STREQ(failure.what(), "") << "mpirun's processes have said it";
      return failure.code;
    }
    return 0;
  }

  /// Sends this process SIGTERM twice once mpirun runs, and ends with its code;
  /// or with kTooSlow where a busy machine had them handled so far apart that
  /// they may count as two wishes. In a process of its own, as signals are
  /// passed on from then on.
  [[noreturn]] void endByTwoSignals() {
    using Clock = std::chrono::steady_clock;
    Clock::duration apart{};
    std::thread sender([&] {
      while (read("began").empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      auto start = Clock::now();
      for (int i = 0; i < 2; ++i) // This thread handles each before it goes on.
        pthread_kill(pthread_self(), SIGTERM);
      apart = Clock::now() - start;
    });
    int ended = code(2);
    sender.join();
    std::_Exit(apart < std::chrono::milliseconds(400) ? ended : kTooSlow);
  }

  /// The code of endByTwoSignals() on a machine that is fast enough.
  int codeOfTwoSignals() {
    int ended = kTooSlow;
    auto keep = [&](int status) {
      ended = WEXITSTATUS(status);
      return WIFEXITED(status);
    };
    while (ended == kTooSlow && !HasFailure())
      EXPECT_EXIT(endByTwoSignals(), keep, "");
    return ended;
  }

  std::string read(const std::string &name) const {
    std::ifstream file(folder.path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  char gradus[7] = "gradus", train[6] = "train", option[8] = "--ranks",
       number[2] = "2";
  char *words[4] = {gradus, train, option, number};
  Folder folder;
  std::string path;
};

} // namespace

TEST_F(StartedRanks, HaveTheWordsOfTheCall) {
  beMpirun("printf '%s\\n' \"$*\" >" + folder.path("said") + "\n");
  EXPECT_EQ(code(2), 0);
  std::string self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_THAT(read("said"), testing::MatchesRegex("-n 2 --quiet --bind-to none "
                                                  "--oversubscribe " +
                                                  self + " train --ranks 2\n"));
}

TEST_F(StartedRanks, EndWithTheCodeOfMpirun) {
  for (int ours : {kFailedWhileRunning, kBadInput, kInterrupted}) {
    beMpirun("exit " + std::to_string(ours) + "\n");
    EXPECT_EQ(code(2), ours);
  }
}

/// mpirun ends with 128 and the number of the signal then.
TEST_F(StartedRanks, HaveFailedWhereOneWasKilled) {
  for (const char *others : {"137", "139", "3"}) {
    beMpirun(std::string("exit ") + others + "\n");
    EXPECT_EQ(code(2), kFailedWhileRunning);
  }
}

TEST(CodeOfRanks, IsOneOfOursAlsoAfterASignal) {
  auto exited = [](int code) { return code << 8; };
  EXPECT_EQ(codeOfRanks(exited(128 + SIGUSR1), SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(codeOfRanks(SIGUSR1, SIGINT), 128 + SIGINT);
  EXPECT_EQ(codeOfRanks(exited(kInterrupted), SIGTERM), kInterrupted);
  EXPECT_EQ(codeOfRanks(exited(0), SIGTERM), kDone);
  EXPECT_EQ(codeOfRanks(exited(kBadInput), SIGTERM), kBadInput);
  for (int asked : {0, SIGTERM})
    for (int other : {137, 128 + SIGTERM, 139})
      EXPECT_EQ(codeOfRanks(exited(other), asked), kFailedWhileRunning);
  EXPECT_EQ(codeOfRanks(SIGKILL, SIGTERM), kFailedWhileRunning);
}

TEST_F(StartedRanks, SayThatMpirunIsGone) {
  beMpirun("kill -KILL $$\n");
  try {
    startRanks(2);
    ADD_FAILURE();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kFailedWhileRunning);
    EXPECT_STREQ(failure.what(),
                 "--ranks 2: mpirun is gone: signal 9 has ended it");
  }
}

TEST_F(StartedRanks, ReadNothing) {
  beMpirun("read line && exit 3; exit 0\n");
  EXPECT_EQ(code(2), 0);
}

/// mpirun kills its processes soon after SIGTERM; it passes SIGUSR1 on. timeout
/// sends one signal twice.
TEST_F(StartedRanks, AreAskedToEndBySigusr1) {
  beMpirun("trap 'sleep 0.1; exit 9' USR1\ntrap 'exit 8' TERM\necho >" +
           folder.path("began") + "\nwhile :; do sleep 0.01; done\n");
  EXPECT_EQ(codeOfTwoSignals(), 9);
}

/// As by the signal that came, where no rank handled it yet.
TEST_F(StartedRanks, EndByTheSignalBeforeTheyTrain) {
  beMpirun("echo >" + folder.path("began") +
           "\nwhile :; do sleep 0.01; done\n");
  EXPECT_EQ(codeOfTwoSignals(), 128 + SIGTERM);
}

TEST_F(StartedRanks, AreNoMoreThanFilesMayBeOpen) {
  beMpirun("echo >" + folder.path("began"));
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit low = {431, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  try {
    startRanks(100);
    ADD_FAILURE();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    EXPECT_THAT(failure.what(),
                HasSubstr("--ranks 100: needs up to 432 open files, and the "
                          "limit is 431 (RLIMIT_NOFILE); "));
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(read("began"), "") << "it is refused before mpirun starts";
}

TEST_F(StartedRanks, ShareTheCoresWithAWarning) {
  beMpirun("exit 0\n");
  int cores = gradus::runtime::availableCores();
  testing::internal::CaptureStderr();
  EXPECT_EQ(code(cores), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(code(cores + 1), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: " + crowdedText(cores + 1, cores) + "\n");
}

TEST(CrowdedRanks, AreToldWhatToExpect) {
  EXPECT_EQ(crowdedText(2, 2), "");
  EXPECT_EQ(crowdedText(2, 16), "");
  EXPECT_EQ(crowdedText(3, 2),
            "--ranks 3: this process may use 2 cores (by its affinity and CPU "
            "quota), which the ranks share: expect a step to take at least 1.5 "
            "times as long as with a core for each");
  EXPECT_THAT(crowdedText(8, 1), HasSubstr("may use 1 core (by"));
  EXPECT_THAT(crowdedText(8, 1), HasSubstr("at least 8 times"));
}

TEST_F(StartedRanks, NeedMpirun) {
  setenv("PATH", folder.path("").c_str(), 1);
  try {
    startRanks(3);
    ADD_FAILURE();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    EXPECT_STREQ(failure.what(),
                 "--ranks 3: mpirun cannot be started (No such file or "
                 "directory): install Open MPI, or run ranks as threads with "
                 "--simulate-ranks 3");
  }
}
