// Kernels that touch what they did not say, or what holds nothing.

#include "runtime/emulated/fake_kernel.h"

#include "tests/runtime/cuda/emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

namespace {

struct FakeKernelTest : ::testing::Test {
  void SetUp() override {
    x = memory.allocate(64, false);
    y = memory.allocate(64, false);
    memory.noteWritten(x, 64);
  }
  std::string run(emulated::Entry entry, std::vector<Access> accesses,
                  bool declared = true) {
    FakeLaunch kernel;
    kernel.accesses = std::move(accesses);
    kernel.declared = declared;
    kernel.launch.name = "test";
    kernel.launch.entry = entry;
    kernel.launch.arguments = {std::bit_cast<void *>(x),
                               std::bit_cast<void *>(y)};
    int64_t operations = 0;
    return runKernel(kernel, memory, operations).message();
  }
  static void copyOne(Thread *t) {
    *at(t, 1, 0, 16, true) = *at(t, 0, 0, 16, false);
  }
  static void writeThenRead(Thread *t) {
    *at(t, 1, 3, 16, true) = 1;
    at(t, 1, 3, 16, false);
  }
  static void readLast(Thread *t) { at(t, 1, 15, 16, false); }
  static void readBehind(Thread *t) { at(t, 0, 16, 17, false); }

  FakeMemory memory;
  DevicePointer x = 0, y = 0;
};

bool ends(const std::string &text, const std::string &with) {
  return text.ends_with(with);
}

} // namespace

TEST_F(FakeKernelTest, MayDoWhatItSaid) {
  EXPECT_EQ(run(copyOne, {{x, 64, 4, false}, {y, 4, 4, true}}), "");
  EXPECT_TRUE(memory.isWritten(y, 4));
  EXPECT_FALSE(memory.isWritten(y + 4, 4));
  EXPECT_EQ(run(copyOne, {}, /*declared=*/false), "");
}

TEST_F(FakeKernelTest, MayReadWhatItWrote) {
  EXPECT_EQ(run(writeThenRead, {{y, 64, 4, true}}), "");
}

TEST_F(FakeKernelTest, MustSayWhatItReads) {
  memory.noteWritten(y, 64);
  EXPECT_EQ(run(readLast, {{y, 64, 4, true}}),
            "kernel test, block 0, thread 0: element 15 of argument 1: reads "
            "what its command does not say that it reads");
  EXPECT_TRUE(ends(run(readLast, {{y, 60, 4, false}}),
                   "outside of the device's memory"));
  EXPECT_EQ(run(readLast, {{y, 32, 4, false}, {y + 16, 48, 4, false}}), "");
}

TEST_F(FakeKernelTest, MustSayWhatItWrites) {
  EXPECT_TRUE(ends(run(copyOne, {{x, 64, 4, false}, {y, 64, 4, false}}),
                   "writes what its command does not say that it writes"));
}

TEST_F(FakeKernelTest, MayNotReadWhatNothingHasWritten) {
  EXPECT_TRUE(ends(run(readLast, {{y, 64, 4, false}}),
                   "reads what nothing has written"));
}

TEST_F(FakeKernelTest, MayNotLeaveMemory) {
  EXPECT_EQ(run(readBehind, {}, /*declared=*/false),
            "kernel test, block 0, thread 0: reads 4 bytes of argument 0 "
            "outside of the device's memory");
}
