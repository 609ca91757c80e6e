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
  Interrupt interrupt(*session);
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
        Interrupt interrupt(*session);
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
        Interrupt interrupt(*session);
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
        Interrupt interrupt(*session);
        std::raise(SIGHUP);
        std::exit(Interrupt::requested() ? 7 : 0);
      },
      testing::ExitedWithCode(0), "");
}
