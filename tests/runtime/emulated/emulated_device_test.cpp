// A plan run on the emulated GPU from its artifact, and what the device says
// where it cannot.

#include "runtime/emulated/emulated_device.h"

#include "tests/runtime/cuda/gpu_adder.h"
#include "tests/runtime/cuda/test_library.h"

#include <thread>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;

TEST(EmulatedDevice, RunsTheEmulatedImageOfAPlan) {
  auto device = openEmulated();
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "the emulated GPU");
  EXPECT_EQ((*device)->kind(), "cuda");
  auto artifact = GpuAdder().artifact();
  const auto &plan = *artifact->header().plans()->Get(1);
  EXPECT_EQ((*device)->refusal(plan), "");
  auto loaded = (*device)->load(*artifact, plan, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (float step : {1.f, 2.f}) {
    auto *input = reinterpret_cast<float *>((*loaded)->inputs(0)[0].data);
    std::fill_n(input, kSize, step);
    Status status = (*loaded)->run(0);
    ASSERT_TRUE(status.ok()) << status;
  }
  Status status = (*loaded)->wait();
  ASSERT_TRUE(status.ok()) << status;
  auto *sum = reinterpret_cast<const float *>((*loaded)->outputs(0)[0].data);
  EXPECT_EQ(std::vector<float>(sum, sum + kSize), std::vector<float>(kSize, 3));
}

/// sum = 10 total, where the constant begins with 10.
TEST(EmulatedDevice, ServesLibraryCommandsOnTheEmulatedCard) {
  auto device = openEmulated();
  ASSERT_TRUE(device.ok()) << device.status();
  GpuAdder adder;
  auto command = std::make_unique<gradus::artifact::CommandT>();
  command->kind.Set(callOn(kTotal, kSum, UINT32_MAX));
  adder.plan().graphs[0]->commands.push_back(std::move(command));
  auto artifact = adder.artifact();
  auto loaded =
      (*device)->load(*artifact, *artifact->header().plans()->Get(1), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::fill_n(reinterpret_cast<float *>((*loaded)->inputs(0)[0].data), kSize,
              2.f);
  ASSERT_TRUE((*loaded)->run(0).ok());
  Status status = (*loaded)->wait();
  ASSERT_TRUE(status.ok()) << status;
  auto *sum = reinterpret_cast<const float *>((*loaded)->outputs(0)[0].data);
  EXPECT_EQ(std::vector<float>(sum, sum + kSize),
            std::vector<float>(kSize, 20));
}

TEST(EmulatedDevice, SaysWhichCodeAPlanLacks) {
  auto device = openEmulated();
  ASSERT_TRUE(device.ok()) << device.status();
  GpuAdder adder;
  auto whole = adder.artifact();
  EXPECT_EQ((*device)->refusal(*whole->header().plans()->Get(0)),
            "has code for nothing, and none for the emulated GPU");
  adder.plan().images[2]->features = {"no-such-feature"};
  auto strange = adder.artifact();
  EXPECT_EQ((*device)->refusal(*strange->header().plans()->Get(1)),
            "needs no-such-feature");
  adder.plan().images.pop_back();
  auto others = adder.artifact();
  const auto &plan = *others->header().plans()->Get(1);
  EXPECT_EQ((*device)->refusal(plan),
            "has code for sm_90 and later, and none for the emulated GPU");
  EXPECT_EQ((*device)->load(*others, plan, {}).status().message(),
            "plan cuda " + (*device)->refusal(plan));
}

/// One thread lets the card go while another opens it.
TEST(EmulatedDevice, OpensTheEmulatedCardInManyThreads) {
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int k = 0; k < 20; ++k)
          EXPECT_TRUE(openEmulated().ok());
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

/// All that are open at once are one card.
TEST(EmulatedDevice, OpensTheEmulatedCardMoreThanOnce) {
  auto first = openEmulated(), second = openEmulated();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(&(*first)->card().driver(), &(*second)->card().driver());
}
