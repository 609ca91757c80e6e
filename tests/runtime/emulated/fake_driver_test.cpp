// The emulated card as programs see it: calls in the wrong order, faults on
// purpose, what is not given back.

#include "runtime/emulated/fake_driver.h"

#include "tests/runtime/cuda/emulated_card.h"

#include <thread>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

TEST(FakeDriverStart, WantsToBeInitialised) {
  FakeDriver fake;
  int count = 0;
  EXPECT_EQ(fake.driver().deviceCount(&count), Result::notInitialized);
  EXPECT_EQ(fake.report(), "cuDeviceGetCount: comes before cuInit");
  EXPECT_EQ(fake.driver().init(0), Result::success);
  EXPECT_EQ(fake.driver().deviceCount(&count), Result::success);
  EXPECT_EQ(count, 1);
}

TEST(FakeDriverStart, WantsAContextInEachThread) {
  FakeDriver fake;
  auto card = Card::open(fake.driver(), 0);
  ASSERT_TRUE(card.ok()) << card.status();
  std::string message;
  std::thread([&] { message = (*card)->synchronize().message(); }).join();
  EXPECT_EQ(
      message,
      "waiting for the emulated GPU: cuCtxSynchronize: this thread has no "
      "current context (CUDA_ERROR_INVALID_CONTEXT 201)");
  std::thread([&] {
    message =
        (*card)->makeCurrent().message() + (*card)->synchronize().message();
  }).join();
  EXPECT_EQ(message, "");
  EXPECT_EQ(fake.leaks(), "1 contexts");
}

TEST(FakeDriverStart, SaysWhatIsNotGivenBack) {
  FakeDriver fake;
  const Driver &driver = fake.driver();
  auto card = Card::open(driver, 0);
  ASSERT_TRUE(card.ok());
  DevicePointer memory;
  Event event;
  ASSERT_EQ(driver.memoryAllocate(&memory, 8), Result::success);
  ASSERT_EQ(driver.eventCreate(&event, 0), Result::success);
  EXPECT_EQ(fake.leaks(), "1 allocations, 1 events, 1 contexts");
}

struct FakeFaults : EmulatedCard {};

TEST_F(FakeFaults, LosesTheCardAtALaunch) {
  for (Result code : {Result::launchFailed, Result::unknown}) {
    FakeOptions options;
    options.lostAt = 2;
    options.lostAs = code;
    open(options);
    DevicePointer x = filled({1, 2});
    std::vector<Node> nodes = {twiceNode(x, 2)};
    EXPECT_EQ(run(nodes), "");
    EXPECT_EQ(run(nodes), "");
    EXPECT_EQ(
        run(nodes),
        code == Result::unknown
            ? "waiting for the emulated GPU: the driver cannot say why: the "
              "GPU "
              "was lost, or its kernel module does not work "
              "(CUDA_ERROR_UNKNOWN 999)"
            : "waiting for the emulated GPU: a kernel failed, and the GPU "
              "forgot all that this program had there "
              "(CUDA_ERROR_LAUNCH_FAILED 719)");
    // Nothing works from then on, but all can be given back.
    float number;
    EXPECT_EQ(driver().copyToHost(&number, x, 4, stream_.get()), code);
    EXPECT_FALSE(card_->createStream().ok());
  }
}

TEST_F(FakeFaults, HasAsMuchMemoryAsItSays) {
  FakeOptions options;
  options.memoryBytes = 1000;
  open(options);
  DevicePointer some;
  EXPECT_EQ(driver().memoryAllocate(&some, 1001), Result::outOfMemory);
  EXPECT_EQ(driver().memoryAllocate(&some, 600), Result::success);
  DevicePointer more;
  EXPECT_EQ(driver().memoryAllocate(&more, 600), Result::outOfMemory);
  EXPECT_EQ(driver().memoryFree(some), Result::success);
  EXPECT_EQ(driver().memoryAllocate(&some, 600), Result::success);
  EXPECT_EQ(driver().memoryFree(some), Result::success);
}

TEST_F(FakeFaults, KeepsTheFirstReport) {
  EXPECT_EQ(driver().memoryFree(12345), Result::invalidValue);
  EXPECT_EQ(driver().eventSynchronize(nullptr), Result::invalidHandle);
  EXPECT_EQ(report(), "cuMemFree_v2: frees what is not allocated");
  EXPECT_STREQ(driver().report(), "cuEventSynchronize: there is no such event");
}
