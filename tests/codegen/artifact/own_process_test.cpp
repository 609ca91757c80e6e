#include "codegen/artifact/own_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace gradus;

TEST(OwnProcess, WorkLeavesNoTraceHere) {
  int here = 1;
  EXPECT_EQ(tryInOwnProcess([&] { here = 2; }), Trial::ended);
  EXPECT_EQ(here, 1);
}

TEST(OwnProcess, TellsWorkThatEndsIt) {
  EXPECT_EQ(tryInOwnProcess([] { std::abort(); }), Trial::died);
  EXPECT_EQ(tryInOwnProcess([] { _exit(1); }), Trial::died);
}

TEST(OwnProcess, WorkHasAGibibyteOfMemory) {
  auto asks = [](size_t bytes) {
    return tryInOwnProcess([=] {
      if (mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
          MAP_FAILED)
        _exit(1);
    });
  };
  EXPECT_EQ(asks(size_t{1} << 20), Trial::ended);
  EXPECT_EQ(asks(size_t{5} << 28), Trial::died);
}

TEST(OwnProcess, SaysThatItLearntNothing) {
  auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(tryInOwnProcess([] {}), Trial::untried);
  std::signal(SIGCHLD, before);
}
