// Scalars of many steps, whatever their types.

#include "frontends/cli/scalar_outputs.h"
#include "runtime/float_conversion.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace gradus::cli;
using namespace gradus::runtime;

TEST(ScalarOutputs, KeepOneValuePerStepAndScalar) {
  GraphInfo graph;
  graph.outputs = {{"loss", {DType::f32, {}}, 4},
                   {"logits", {DType::f32, {2}}, 8},
                   {"right", {DType::i64, {}}, 8}};
  ScalarOutputs scalars(graph, 2);
  EXPECT_THAT(scalars.names(), testing::ElementsAre("loss", "right"));
  auto places = scalars.places(2);
  ASSERT_EQ(places.size(), 6u);
  EXPECT_EQ(places[1], nullptr);
  float loss = 0.5f;
  int64_t right = 7;
  std::memcpy(places[3], &loss, sizeof(loss));
  std::memcpy(places[5], &right, sizeof(right));
  EXPECT_EQ(scalars.value(1, 0), 0.5);
  EXPECT_EQ(scalars.value(1, 1), 7);
  EXPECT_EQ(scalars.value(0, 0), 0);
}

template <typename T> static double read(DType dtype, T written) {
  GraphInfo graph;
  graph.outputs = {{"loss", {dtype, {}}, sizeof(T)}};
  ScalarOutputs scalars(graph, 1);
  std::memcpy(scalars.places(1)[0], &written, sizeof(T));
  return scalars.value(0, 0);
}

TEST(ScalarOutputs, ReadEveryTypeOfNumber) {
  EXPECT_EQ(read(DType::f64, -0.25), -0.25);
  EXPECT_EQ(read(DType::f16, _Float16(2.5)), 2.5);
  EXPECT_EQ(read(DType::bf16, Bf16(-3.0)), -3);
  EXPECT_EQ(read(DType::i32, int32_t(-7)), -7);
}
