// Values that any graph may meet.

#include "tool/session/synthetic_inputs.h"

#include "tests/tool/adder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

using namespace gradus::cli;
using namespace gradus::runtime;

template <typename T> static std::vector<T> values(const TensorInfo &input) {
  std::vector<uint8_t> bytes = syntheticInput(input, 10, 32);
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

TEST(SyntheticInputs, AreFloatsBelowOne) {
  for (float value : values<float>({"x", {DType::f32, {100}}, 400})) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
  }
}

/// The two sides of a siamese network, say.
TEST(SyntheticInputs, DifferByName) {
  TensorInfo left = {"left", {DType::f32, {100}}, 400}, right = left;
  right.name = "right";
  EXPECT_EQ(values<float>(left), values<float>(left));
  int equal = 0;
  for (int i = 0; i < 100; ++i)
    equal += values<float>(left)[i] == values<float>(right)[i];
  EXPECT_LT(equal, 5);
}

TEST(SyntheticInputs, AreLabelsOfTheModel) {
  int64_t most = 0;
  for (int64_t label : values<int64_t>({"label", {DType::i64, {100}}, 800})) {
    EXPECT_GE(label, 0);
    EXPECT_LT(label, 10);
    most = std::max(most, label);
  }
  EXPECT_GT(most, 4);
}

TEST(SyntheticInputs, AreIndicesOfTheRange) {
  TensorInfo tokens = {"input_ids", {DType::i32, {4, 25}}, 400, 50};
  int64_t most = 0;
  for (int32_t token : values<int32_t>(tokens)) {
    EXPECT_GE(token, 0);
    EXPECT_LT(token, 50);
    most = std::max<int64_t>(most, token);
  }
  EXPECT_GT(most, 40);
}

TEST(SyntheticInputs, MaskSomeOfEachRow) {
  std::vector<int64_t> mask =
      values<int64_t>({"attention_mask", {DType::i64, {4, 25}}, 800});
  EXPECT_THAT(mask, ::testing::Each(::testing::AnyOf(0, 1)));
  EXPECT_THAT(mask, ::testing::Contains(0));
  for (size_t row = 0; row < 4; ++row)
    EXPECT_EQ(mask[row * 25], 1);
}

TEST(SyntheticInputs, CountAWholeBatch) {
  EXPECT_EQ(values<int64_t>({"count", {DType::i64, {}}, 8})[0], 32);
}

TEST(SyntheticInputs, AreThoseOfAllTurnsOfAStep) {
  gradus::test::TestArtifact made;
  made.addTurns();
  auto session = Adder(made).open();
  std::vector<float> x(gradus::test::kSize, 1), sum(gradus::test::kSize);
  const void *inputs[] = {x.data()};
  void *outputs[] = {sum.data(), nullptr};
  ASSERT_TRUE(runStep(*session, 0, inputs, outputs).ok());
  EXPECT_EQ(sum[0], 2);
  EXPECT_EQ(*session->stepCount(), 1);
}
