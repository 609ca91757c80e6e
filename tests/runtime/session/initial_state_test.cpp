#include "runtime/session/initial_state.h"

#include "runtime/artifact_hash.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/flat.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

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

std::vector<uint8_t> initial(const TestArtifact &made, int64_t rank = 0) {
  return states(made, [&](auto &artifact, auto &plan, auto &device) {
    EXPECT_TRUE(initialiseStates(artifact, plan, device, rank).ok());
  });
}

/// The numbers 1, 2, ...
std::vector<float> numbers(int64_t count) {
  std::vector<float> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 1.0f);
  return all;
}

/// An artifact for as many ranks as have a part of `part` elements of the
/// numbers 1 to `count`, as the fixed state `rows`. Among the weights they
/// begin at no multiple of the block that hashes read.
TestArtifact withParts(int64_t count, int64_t part) {
  TestArtifact made;
  made.header.ranks = (count + part - 1) / part;
  made.addFixed(0);
  auto &state = *made.header.states.back();
  state.per_rank = true;
  state.type->shape = {part};
  state.whole = std::make_unique<gradus::artifact::TensorTypeT>(*state.type);
  state.whole->shape = {count};
  state.has_initial = true;
  made.weights.resize(made.weights.size() + 4);
  state.initial = made.weights.size();
  std::vector<float> all = numbers(count);
  auto *bytes = reinterpret_cast<const uint8_t *>(all.data());
  made.weights.insert(made.weights.end(), bytes, bytes + count * 4);
  return made;
}

/// The first elements of the state that was added last.
std::vector<float> lastOf(TestArtifact made,
                          const std::vector<uint8_t> &region) {
  std::vector<float> values(4);
  std::memcpy(values.data(), region.data() + made.plan().state_offsets.back(),
              16);
  return values;
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

/// Behind the end of the whole, and on ranks that have no part, are zeros.
TEST(InitialState, OfARankIsItsPartOfAWhole) {
  using Floats = std::vector<float>;
  TestArtifact made = withParts(7, 3);
  auto on = [&](int64_t rank) { return lastOf(made, initial(made, rank)); };
  EXPECT_EQ(on(0), (Floats{1, 2, 3, 0}));
  EXPECT_EQ(on(1), (Floats{4, 5, 6, 0}));
  EXPECT_EQ(on(2), (Floats{7, 0, 0, 0}));
  EXPECT_EQ(on(3), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(on(std::numeric_limits<int64_t>::max()), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(
      lastOf(made, states(made,
                          [](auto &artifact, auto &plan, auto &device) {
                            EXPECT_TRUE(
                                resetStates(artifact, plan, device, 1).ok());
                          })),
      (Floats{4, 5, 6, 0}));
}

/// The weights are read in pieces that are smaller.
TEST(InitialState, OfARankIsItsPartOfALargeWhole) {
  TestArtifact made = withParts(100'000, 10);
  EXPECT_EQ(lastOf(made, initial(made, 9000)),
            (std::vector<float>{90001, 90002, 90003, 90004}));
}

/// The hash of the only fixed state, of which the process has a part.
static uint64_t hashOfRows(const TestArtifact &made) {
  auto artifact = *Artifact::fromBytes(made.bytes(), "adder");
  const auto &plan = *artifact->header().plans()->Get(0);
  auto device = *CpuDevice().load(*artifact, plan, {.threads = 1});
  HostStates values(*device, artifact->header(), plan);
  EXPECT_TRUE(hashWholes(*artifact, values).ok());
  return *values.fixedHash(countOf(artifact->header().states()) - 1);
}

/// Whatever part a rank has, and where the values begin.
TEST(HashWholes, IsThatOfAllValues) {
  for (int64_t count : {1, 7, 8, 9, 100'000}) {
    std::vector<float> all = numbers(count);
    EXPECT_EQ(
        hashOfRows(withParts(count, 10)),
        gradus::artifact::hashBytes(
            reinterpret_cast<const uint8_t *>(all.data()), all.size() * 4))
        << count;
  }
}

TEST(HashWholes, IsThatOfAllThatIsFilled) {
  TestArtifact made = withParts(100'000, 10);
  made.header.states.back()->has_initial = false;
  made.header.states.back()->fill = 2;
  std::vector<float> all(100'000, 2.0f);
  EXPECT_EQ(hashOfRows(made),
            gradus::artifact::hashBytes(
                reinterpret_cast<const uint8_t *>(all.data()), all.size() * 4));
}

/// Another state keeps the hash of what the process has.
TEST(HashWholes, LeavesOthersAlone) {
  TestArtifact made = withParts(7, 3);
  made.addFixed(5);
  made.header.states.back()->name = "others";
  const float fives[] = {5, 5};
  auto artifact = *Artifact::fromBytes(made.bytes(), "adder");
  const auto &plan = *artifact->header().plans()->Get(0);
  auto device = *CpuDevice().load(*artifact, plan, {.threads = 1});
  EXPECT_TRUE(initialiseStates(*artifact, plan, *device).ok());
  HostStates values(*device, artifact->header(), plan);
  EXPECT_TRUE(hashWholes(*artifact, values).ok());
  EXPECT_EQ(*values.fixedHash(4),
            gradus::artifact::hashBytes(
                reinterpret_cast<const uint8_t *>(fives), sizeof(fives)));
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
