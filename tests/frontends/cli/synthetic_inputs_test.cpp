// Values that any graph may meet.

#include "frontends/cli/synthetic_inputs.h"

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
    EXPECT_LE(value, 1);
  }
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

TEST(SyntheticInputs, CountAWholeBatch) {
  EXPECT_EQ(values<int64_t>({"count", {DType::i64, {}}, 8})[0], 32);
}
