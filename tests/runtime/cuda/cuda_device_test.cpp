// Which image of a plan a GPU runs, and what it says where there is none.

#include "runtime/cuda/cuda_device.h"

#include "gpu_adder.h"
#include "runtime/emulated/fake_driver.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;

TEST(CudaDevice, TakesTheNearestImageThatRuns) {
  for (auto [capability, chosen] : {std::pair(75, "none"),
                                    {80, "sm_80"},
                                    {86, "sm_86"},
                                    {89, "sm_86"},
                                    {90, "sm_90"},
                                    {100, "PTX sm_80"},
                                    {120, "PTX sm_80"}})
    EXPECT_EQ(
        GpuAdder().chosenFor(capability, {"sm_90", "sm_80", "sm_86", "sm_80"}),
        chosen)
        << capability;
  EXPECT_EQ(GpuAdder().chosenFor(90, {"sm_90a", "sm_100"}), "none");
  for (const char *name : {"sm_-90", "sm_+90", "sm_"})
    EXPECT_EQ(GpuAdder().chosenFor(90, {name}), "none");
}

/// The emulated card in place of one of the machine.
class CudaDeviceOnCard : public ::testing::Test {
protected:
  std::string refusal() {
    auto artifact = adder.artifact();
    return device->refusal(*artifact->header().plans()->Get(1));
  }
  std::string loading() {
    auto artifact = adder.artifact();
    const auto &plan = *artifact->header().plans()->Get(1);
    return device->load(*artifact, plan, {}).status().message();
  }

  FakeDriver fake;
  std::unique_ptr<CudaDevice> device =
      CudaDevice::onCard(*Card::open(fake.driver(), 0), 3);
  GpuAdder adder;
};

TEST_F(CudaDeviceOnCard, KnowsItsMemory) {
  EXPECT_EQ(device->card().memory(), size_t(1) << 30);
}

TEST_F(CudaDeviceOnCard, SaysThatThereIsNoCodeForIt) {
  EXPECT_EQ(device->name(), "card 3 (the emulated GPU)");
  EXPECT_EQ(device->target(), "cuda");
  EXPECT_EQ(refusal(), "");
  adder.plan().images[0]->architecture = "sm_80";
  adder.plan().images[1]->architecture = "sm_100";
  EXPECT_EQ(refusal(), "has code for sm_80, sm_100 and later, the emulated "
                       "GPU, and none for sm_90");
  adder.plan().images.erase(adder.plan().images.begin() + 1);
  EXPECT_EQ(refusal(),
            "has code for sm_80, the emulated GPU, and none for sm_90");
}

TEST_F(CudaDeviceOnCard, SaysThatTheDriverRefusesTheCode) {
  const std::string where =
      "loading the plan's kernels on the emulated GPU (sm_90): ";
  EXPECT_EQ(loading(),
            where + "the GPU code is damaged, or of a newer CUDA than the "
                    "NVIDIA driver (CUDA_ERROR_INVALID_IMAGE 200)");
  std::memcpy(adder.adder.code.data(),
              "\x7f"
              "ELF",
              4);
  EXPECT_EQ(loading(), where + "there is no code for this GPU's architecture "
                               "(CUDA_ERROR_NO_BINARY_FOR_GPU 209)");
}

TEST_F(CudaDeviceOnCard, SaysThatPtxDoesNotEnd) {
  adder.plan().images.erase(adder.plan().images.begin());
  adder.adder.code.back() = 1;
  EXPECT_EQ(loading(), "its PTX does not end with a zero");
}
