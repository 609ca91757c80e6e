#include "runtime/session/host_view.h"

#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace gradus::runtime;
using namespace gradus::test;
using gradus::artifact::Region;

namespace {

struct HostViews : testing::TestWithParam<const char *> {
  void SetUp() override {
    artifact = *Artifact::fromBytes(TestArtifact().bytes(), "adder");
    plan = artifact->header().plans()->Get(0);
    loaded = *device->load(*artifact, *plan, {.threads = 1});
    set(1);
  }

  /// All of `total`, behind the back of what looks at it.
  void set(float value) {
    std::vector<float> values(kSize, value);
    std::span bytes(reinterpret_cast<const uint8_t *>(values.data()), 32);
    EXPECT_TRUE(loaded->write(Region::state, 0, bytes).ok());
  }

  static float first(const StatusOr<std::span<const uint8_t>> &bytes) {
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ((*bytes).size(), 32u);
    float value;
    std::memcpy(&value, (*bytes).data(), sizeof(value));
    return value;
  }

  std::shared_ptr<Device> device = deviceOf(GetParam());
  std::shared_ptr<const Artifact> artifact;
  const gradus::artifact::Plan *plan;
  std::unique_ptr<DevicePlan> loaded;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, HostViews, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(HostViews, ShowWhatIsThereNow) {
  HostView view(*loaded);
  EXPECT_EQ(first(view.bytes(Region::state, 0, 32)), 1);
  set(2);
  EXPECT_EQ(first(view.bytes(*plan->buffers()->Get(kTotal))), 2);
  EXPECT_EQ(first(view.bytes(*plan->buffers()->Get(kConstant))), 10);
  EXPECT_TRUE((*view.bytes(Region::arena, 0, 0)).empty());
}

TEST_P(HostViews, KeepNoMoreOfABufferThanItHas) {
  TestArtifact made;
  made.plan().buffers[kScratch]->type.reset(); // then it has that of a scalar
  made.plan().buffers[kScratch]->size = 0;
  made.command(2).kind.AsKernelCommand()->segments.pop_back();
  artifact = *Artifact::fromBytes(made.bytes(), "adder");
  plan = artifact->header().plans()->Get(0);
  HostView view(*loaded);
  EXPECT_EQ((*view.bytes(*plan->buffers()->Get(kScratch))).size(), 0u);
}

TEST_P(HostViews, OfStatesHoldUntilTheyAreForgotten) {
  HostStates states(*loaded, artifact->header(), *plan);
  auto total = states.bytes(0);
  EXPECT_EQ(first(total), 1);
  EXPECT_EQ((*states.bytes(2)).size(), sizeof(int64_t));
  EXPECT_EQ(first(total), 1) << "another state has its own place";
  set(2);
  states.forget();
  EXPECT_EQ(first(states.bytes(0)), 2);
}

TEST_P(HostViews, ShowAStateThatWasWritten) {
  HostStates states(*loaded, artifact->header(), *plan);
  EXPECT_EQ(first(states.bytes(0)), 1);
  std::vector<float> threes(kSize, 3);
  std::span bytes(reinterpret_cast<const uint8_t *>(threes.data()), 32);
  ASSERT_TRUE(states.write(0, bytes).ok());
  EXPECT_EQ(first(states.bytes(0)), 3);
}

/// A checkpoint's copies of all weights do not stay.
TEST(HostStates, GiveBackWhatManyCopiesTook) {
  TestArtifact made;
  auto &state = *made.header.states[0];
  constexpr int64_t kMany = 1 << 19; // floats: 2 MiB
  state.type->shape = {kMany};
  state.has_initial = false;
  made.plan().state_offsets = {192, 64, 128};
  made.plan().state_bytes = 192 + 4 * kMany;
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const auto &plan = *(*artifact)->header().plans()->Get(0);
  auto device = deviceOf("fake");
  auto loaded = *device->load(**artifact, plan, {});
  HostStates states(*loaded, (*artifact)->header(), plan);
  ASSERT_TRUE(states.bytes(2).ok());
  states.forget();
  ASSERT_TRUE(states.bytes(2).ok());
  EXPECT_EQ(states.copiedBytes(), 8u) << "a counter keeps its place";
  ASSERT_TRUE(states.bytes(0).ok());
  EXPECT_EQ(states.copiedBytes(), 8u + 4 * kMany);
  states.forget();
  EXPECT_EQ(states.copiedBytes(), 0u);
  EXPECT_EQ((*states.bytes(0)).size(), size_t(4 * kMany));
}

TEST(HostStates, AreTheMemoryOfTheProcessorItself) {
  auto device = deviceOf("cpu");
  auto artifact = *Artifact::fromBytes(TestArtifact().bytes(), "adder");
  const auto &plan = *artifact->header().plans()->Get(0);
  auto loaded = *device->load(*artifact, plan, {});
  HostStates states(*loaded, artifact->header(), plan);
  EXPECT_EQ((*states.bytes(2)).data(), loaded->memory(Region::state) + 128);
}
