// Scalars of many steps, whatever their types.

#include "training/scalar_outputs.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace gradus::training;
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

/// The calls before the last of a step have nothing to tell.
TEST(ScalarOutputs, AreThoseOfTheLastTurnOfAStep) {
  GraphInfo graph;
  graph.outputs = {{"loss", {DType::f32, {}}, 4},
                   {"logits", {DType::f32, {2}}, 8}};
  ScalarOutputs scalars(graph, 2, /*turns=*/2);
  auto places = scalars.places(2);
  ASSERT_EQ(places.size(), 8u);
  for (size_t i : {0, 1, 3, 4, 5, 7})
    EXPECT_EQ(places[i], nullptr) << i;
  float loss = 0.5f;
  std::memcpy(places[6], &loss, sizeof(loss));
  EXPECT_EQ(scalars.value(1, 0), 0.5);
  EXPECT_EQ(scalars.value(0, 0), 0);
}
