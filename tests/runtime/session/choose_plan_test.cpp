#include "runtime/session/choose_plan.h"

#include "runtime/cpu/cpu_device.h"
#include "tests/runtime/collectives/ranks.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;

static std::shared_ptr<const Artifact> open(const TestArtifact &made) {
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  return *artifact;
}

static void addPlan(TestArtifact &made, const char *target,
                    std::vector<std::string> features, int score) {
  auto plan = std::make_unique<gradus::artifact::PlanT>(made.plan());
  plan->target = target;
  plan->features = std::move(features);
  plan->tuning_score = score;
  made.header.plans.push_back(std::move(plan));
}

TEST(ChoosePlan, TakesTheBestThatTheDeviceCanRun) {
  TestArtifact made;
  addPlan(made, "cpu:better", {"sse2"}, 5);
  addPlan(made, "cpu:too-new", {"avx9000"}, 9);
  made.addGpuPlan().tuning_score = 99;
  addPlan(made, "cpus", {}, 99);
  auto artifact = open(made);
  auto plan = choosePlan(artifact->header(), CpuDevice());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->target()->str(), "cpu:better");
}

TEST(ChoosePlan, SaysWhatTheDeviceLacks) {
  TestArtifact made;
  made.plan().features = {"sse2", "avx9000", "amx-quantum"};
  addPlan(made, "cpu", {"avx9001"}, 0);
  auto artifact = open(made);
  EXPECT_EQ(
      choosePlan(artifact->header(), CpuDevice()).status().message(),
      "has no plan that this processor can run: cpu:x86-64-v2 needs avx9000, "
      "amx-quantum; cpu needs avx9001: compile it with --target cpu");
}

namespace {

/// A processor that lacks what a plan of this target needs.
class Without : public CpuDevice {
public:
  explicit Without(std::string target) : target_(std::move(target)) {}
  std::string refusal(const gradus::artifact::Plan &plan) const override {
    bool isIt = plan.target()->str() == target_;
    return isIt ? "needs what is not here" : CpuDevice::refusal(plan);
  }

private:
  std::string target_;
};

/// Returns the target that each rank chooses; each lacks one of its own.
std::vector<std::string> chosenByAll(const TestArtifact &made,
                                     const std::vector<std::string> &lacking) {
  auto artifact = open(made);
  std::vector<std::string> chosen(lacking.size());
  onRanks(inProcess(static_cast<int>(lacking.size())),
          [&](CommunicationThread &rank) {
            auto own = static_cast<size_t>(rank.rank());
            auto plan = chooseCommonPlan(artifact->header(),
                                         Without(lacking[own]), rank);
            chosen[own] =
                plan.ok() ? (*plan)->target()->str() : plan.status().message();
          });
  return chosen;
}

} // namespace

TEST(ChooseCommonPlan, TakesTheBestThatAllRanksCanRun) {
  TestArtifact made;
  addPlan(made, "cpu:best", {}, 9);
  addPlan(made, "cpu:good", {}, 5);
  using Names = std::vector<std::string>;
  EXPECT_EQ(chosenByAll(made, {"", ""}), (Names{"cpu:best", "cpu:best"}));
  EXPECT_EQ(chosenByAll(made, {"", "cpu:best", ""}),
            (Names{"cpu:good", "cpu:good", "cpu:good"}));
}

TEST(ChooseCommonPlan, SaysThatNoneIsForAll) {
  TestArtifact made;
  addPlan(made, "cpu:other", {}, 9);
  for (const std::string &words :
       chosenByAll(made, {"cpu:other", "cpu:x86-64-v2"}))
    EXPECT_EQ(words, "has plans for cpu:x86-64-v2, cpu:other, and none that "
                     "this processor and those of all other ranks can run: "
                     "compile it with --target for the oldest of them");
}

/// Where a driver is missing, too, that is not what is to be mended first.
TEST(OpenDeviceFor, SaysFirstThatThereIsNoPlan) {
  setenv("GRADUS_CUDA_LIBRARY", "no-such-library.so", 1);
  TestArtifact made;
  auto words = [&](const char *name) {
    auto device = openDeviceFor(open(made)->header(), name);
    return device.ok() ? "opened" : device.status().message();
  };
  EXPECT_EQ(words("cpu"), "opened");
  EXPECT_EQ(words("cuda:1"), "has plans for cpu:x86-64-v2, and none for GPUs: "
                             "compile it with --target cuda");
  EXPECT_EQ(words("emulated"),
            "has plans for cpu:x86-64-v2, and none for GPUs: compile it with "
            "--target emulated");
  EXPECT_EQ(words("tpu").substr(0, 21), "device tpu is not one");
  made.addGpuPlan();
  EXPECT_EQ(words("cuda:1").substr(0, 21), "device cuda:1: needs ");
  unsetenv("GRADUS_CUDA_LIBRARY");
}

TEST(ChoosePlan, SaysThatThereIsNoneForTheDevice) {
  TestArtifact made;
  made.plan().target = "npu:a";
  addPlan(made, "npu:b", {}, 0);
  auto artifact = open(made);
  EXPECT_EQ(choosePlan(artifact->header(), CpuDevice()).status().message(),
            "has plans for npu:a, npu:b, and none for this "
            "processor: compile it with --target cpu");
}
