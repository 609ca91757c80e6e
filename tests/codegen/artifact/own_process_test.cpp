#include "codegen/artifact/own_process.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace gradus;

TEST(OwnProcess, WorkLeavesNoTraceHere) {
  int here = 1;
  EXPECT_TRUE(endsInOwnProcess([&] { here = 2; }));
  EXPECT_EQ(here, 1);
}

TEST(OwnProcess, TellsWorkThatEndsIt) {
  EXPECT_FALSE(endsInOwnProcess([] { std::abort(); }));
  EXPECT_FALSE(endsInOwnProcess([] { _exit(1); }));
}

TEST(OwnProcess, WorkHasAGibibyteOfMemory) {
  auto asks = [](size_t bytes) {
    return endsInOwnProcess([=] {
      if (mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
          MAP_FAILED)
        _exit(1);
    });
  };
  EXPECT_TRUE(asks(size_t{1} << 20));
  EXPECT_FALSE(asks(size_t{5} << 28));
}
