#include "runtime/session/initial_state.h"

#include "runtime/cpu/cpu_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace gradus::runtime;
using namespace gradus::test;
using gradus::artifact::DType;
using gradus::artifact::Region;

namespace {

/// The bytes of all states, after `change` of them.
template <typename Change>
std::vector<uint8_t> states(const TestArtifact &made, Change change) {
  auto artifact = *Artifact::fromBytes(made.bytes(), "adder");
  const auto &plan = *artifact->header().plans()->Get(0);
  auto device = *CpuDevice().load(*artifact, plan, {.threads = 1});
  change(*artifact, plan, *device);
  std::vector<uint8_t> bytes(plan.state_bytes());
  EXPECT_TRUE(device->read(Region::state, 0, bytes).ok());
  return bytes;
}

std::vector<uint8_t> initial(const TestArtifact &made) {
  return states(made, [](auto &artifact, auto &plan, auto &device) {
    EXPECT_TRUE(initialiseStates(artifact, plan, device).ok());
  });
}

} // namespace

TEST(InitialState, IsTheWeightsOrTheFill) {
  auto region = initial(TestArtifact());
  float total[kSize];
  std::memcpy(total, region.data(), sizeof(total));
  for (int i = 0; i < kSize; ++i)
    EXPECT_EQ(total[i], i);
  uint16_t scale[4];
  std::memcpy(scale, region.data() + 64, sizeof(scale));
  for (uint16_t bits : scale)
    EXPECT_EQ(bits, 0x3f80); // 1 as bf16
  EXPECT_EQ(region[72], 0) << "nothing behind it";
}

TEST(InitialState, FillsStatesOfAnySize) {
  TestArtifact made;
  constexpr int64_t kMany = 100'001; // more than is written at once
  made.header.states[1]->type->shape = {kMany};
  made.header.states[1]->fill = 3;
  made.plan().state_offsets = {0, 64, 200'128};
  made.plan().state_bytes = 200'192;
  auto region = initial(made);
  for (int64_t i = 0; i < kMany; ++i) {
    uint16_t bits;
    std::memcpy(&bits, region.data() + 64 + i * 2, sizeof(bits));
    ASSERT_EQ(bits, 0x4040) << i; // 3 as bf16
  }
  EXPECT_EQ(region[64 + kMany * 2], 0) << "nothing behind it";
}

TEST(InitialState, ComesBack) {
  auto reset =
      states(TestArtifact(), [](auto &artifact, auto &plan, auto &device) {
        std::vector<uint8_t> ones(plan.state_bytes(), 1);
        EXPECT_TRUE(device.write(Region::state, 0, ones).ok());
        EXPECT_TRUE(resetStates(artifact, plan, device).ok());
      });
  EXPECT_EQ(reset, initial(TestArtifact()));
}

template <typename T> static T filled(DType dtype, double value) {
  T results[3] = {};
  fillWith(dtype, results, 2, value);
  EXPECT_EQ(results[2], T{}) << "only the two";
  EXPECT_EQ(std::memcmp(&results[0], &results[1], sizeof(T)), 0);
  return results[0];
}

TEST(FillWith, RoundsToTheType) {
  EXPECT_EQ(filled<float>(DType::f32, 0.1), 0.1f);
  EXPECT_EQ(filled<double>(DType::f64, 0.1), 0.1);
  EXPECT_EQ(filled<uint16_t>(DType::bf16, 1.0 + 1.0 / 256),
            0x3f80); // a tie, to even
  EXPECT_EQ(filled<uint16_t>(DType::bf16, 1.0 + 3.0 / 256), 0x3f82);
  EXPECT_EQ(filled<uint16_t>(DType::f16, 0.5), 0x3800);
  EXPECT_EQ(filled<int8_t>(DType::i8, -128), -128);
  EXPECT_EQ(filled<uint8_t>(DType::u8, 255), 255);
  EXPECT_EQ(filled<int32_t>(DType::i32, -7), -7);
  EXPECT_EQ(filled<int64_t>(DType::i64, 1 << 20), 1 << 20);
  EXPECT_EQ(filled<uint8_t>(DType::boolean, 3), 1);
}

TEST(FillWith, GivesZeroForWhatAWholeNumberCannotBe) {
  EXPECT_EQ(filled<int8_t>(DType::i8, 1000), 0);
  EXPECT_EQ(filled<uint8_t>(DType::u8, -1), 0);
  EXPECT_EQ(filled<int64_t>(DType::i64, 1e30), 0);
  EXPECT_EQ(
      filled<int32_t>(DType::i32, std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(FillWith, KeepsNotANumber) {
  float value = filled<float>(DType::f32, std::nan(""));
  EXPECT_TRUE(std::isnan(value));
  EXPECT_GT(filled<uint16_t>(DType::bf16, std::nan("")) & 0x7f, 0);
}
