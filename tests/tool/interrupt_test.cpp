// A signal cancels the session; the next step fails and nothing else happens.

#include "tests/tool/adder.h"
#include "tool/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

using namespace gradus::cli;

TEST(Interrupt, CancelsTheSession) {
  Adder adder;
  auto session = adder.open();
  float x[8] = {};
  const void *inputs[] = {x};
  Interrupt interrupt(session.get());
  ASSERT_TRUE(session->step(0, inputs).ok());
  EXPECT_FALSE(Interrupt::requested());
  std::raise(SIGINT);
  EXPECT_TRUE(Interrupt::requested());
  EXPECT_EQ(session->step(0, inputs).code(),
            gradus::runtime::StatusCode::cancelled);
  std::raise(SIGINT); // as timeout(1) does: not a second wish
  EXPECT_TRUE(Interrupt::requested());
}

TEST(Interrupt, EndsTheProcessAtALaterSecondSignal) {
  Adder adder;
  auto session = adder.open();
  EXPECT_EXIT(
      {
        Interrupt interrupt(session.get());
        std::raise(SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        std::raise(SIGTERM);
        std::exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(Interrupt, TakesAClosedPipeForOneWishAlone) {
  Adder adder;
  auto session = adder.open();
  EXPECT_EXIT(
      {
        Interrupt interrupt(session.get());
        std::raise(SIGPIPE);
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        std::raise(SIGPIPE);
        std::exit(Interrupt::requested() ? 7 : 0);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Interrupt, LeavesAHangUpToNohup) {
  // In a process where no test before has asked to stop.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Adder adder;
  auto session = adder.open();
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        Interrupt interrupt(session.get());
        std::raise(SIGHUP);
        std::exit(Interrupt::requested() ? 7 : 0);
      },
      testing::ExitedWithCode(0), "");
}

/// As a rank, which ends where all do: its step is not cut off.
TEST(Interrupt, OnlyAsksWhereThereIsNoSession) {
  // In a process where no test before has asked to stop.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Adder adder;
  auto session = adder.open();
  EXPECT_EXIT(
      {
        Interrupt interrupt(nullptr);
        std::raise(SIGUSR1); // which mpirun passes on as it is
        std::exit(Interrupt::requested() && session->step(0).ok() ? 7 : 0);
      },
      testing::ExitedWithCode(7), "");
}

/// Each simulated rank has one: signals are handled until the last is gone.
TEST(Interrupt, MayBeThereSeveralTimes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Interrupt first(nullptr);
        {
          Interrupt second(nullptr);
        }
        std::raise(SIGTERM);
        std::exit(Interrupt::requested() ? 7 : 0);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Interrupt, LetsALaunchersWishComeTooLate) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          Interrupt interrupt(nullptr);
        }
        std::raise(SIGUSR1);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}
