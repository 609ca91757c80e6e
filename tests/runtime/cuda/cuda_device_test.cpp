// Which image of a plan a GPU runs, what it says where there is none, and a
// plan run on the emulated one from its artifact.

#include "runtime/cuda/cuda_device.h"

#include "adder_on_card.h"
#include "test_library.h"

#include <thread>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;
using gradus::artifact::ImageKind;

namespace {

/// The adder with a plan for GPUs.
struct GpuAdder {
  GpuAdder() {
    adder.addGpuPlan();
    adder.code.resize((adder.code.size() + 15) / 16 * 16); // behind the CPU's
    emulated::Entry entries[] = {flatAdd, count};
    for (size_t i = 0; i < 2; ++i) {
      auto jump = jumpTo(entries[i]);
      plan().images[2]->kernels[i]->entry = adder.code.size();
      adder.code.insert(adder.code.end(), jump.begin(), jump.end());
      adder.kernels.kernels[i]->gpu->threads = 32;
    }
    adder.kernels.kernels[0]->gpu->piece = kPiece;
    adder.kernels.kernels[1]->gpu->scratch = {8};
    adder.kernels.kernels[1]->outputs = 0;
  }
  gradus::artifact::PlanT &plan() { return *adder.header.plans[1]; }
  std::shared_ptr<const Artifact> artifact() const {
    auto read = Artifact::fromBytes(adder.bytes(), "adder");
    EXPECT_TRUE(read.ok()) << read.status();
    return *read;
  }
  /// Its images are of these architectures; the last is PTX.
  std::string chosenFor(int capability, std::vector<std::string> names) {
    auto model = std::move(plan().images[0]);
    plan().images.clear();
    for (const std::string &name : names) {
      plan().images.push_back(
          std::make_unique<gradus::artifact::CodeImageT>(*model));
      plan().images.back()->architecture = name;
    }
    plan().images.back()->kind = ImageKind::ptx;
    auto read = artifact();
    const auto *image =
        chooseImage(*read->header().plans()->Get(1), capability);
    return !image ? "none"
                  : (image->kind() == ImageKind::ptx ? "PTX " : "") +
                        image->architecture()->str();
  }

  TestArtifact adder;
};

} // namespace

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

TEST(CudaDevice, RunsTheEmulatedImageOfAPlan) {
  auto device = CudaDevice::openEmulated();
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
TEST(CudaDevice, ServesLibraryCommandsOnTheEmulatedCard) {
  auto device = CudaDevice::openEmulated();
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

TEST(CudaDevice, SaysWhichCodeAPlanLacks) {
  auto device = CudaDevice::openEmulated();
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

/// One thread lets the card go while another opens it.
TEST(CudaDevice, OpensTheEmulatedCardInManyThreads) {
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int k = 0; k < 20; ++k)
          EXPECT_TRUE(CudaDevice::openEmulated().ok());
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

/// All that are open at once are one card.
TEST(CudaDevice, OpensTheEmulatedCardMoreThanOnce) {
  auto first = CudaDevice::openEmulated(), second = CudaDevice::openEmulated();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(&(*first)->card().driver(), &(*second)->card().driver());
}
