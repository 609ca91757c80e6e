// States as they look while a model trains.

#include "tool/session/random_states.h"

#include "tests/tool/adder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace gradus::cli;
using namespace gradus::runtime;
using gradus::artifact::Role;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Lt;

static StateInfo stateOf(const std::string &name, std::vector<int64_t> shape,
                         Role role = Role::parameter,
                         DType dtype = DType::f32) {
  StateInfo state;
  state.name = name;
  state.type = {dtype, std::move(shape)};
  state.bytes = *bytesOf(state.type);
  state.role = role;
  return state;
}

static std::vector<float> numbersOf(const StateInfo &state) {
  std::vector<uint8_t> bytes = randomState(state);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

/// Of a layer with so many inputs, what it gives is about as large as they are.
TEST(RandomStates, AreWeightsByTheirRows) {
  std::vector<float> numbers =
      numbersOf(stateOf("conv1.weight", {64, 4, 5, 5}));
  ASSERT_EQ(numbers.size(), 6400u);
  EXPECT_THAT(numbers, Each(AllOf(Ge(-0.1f), Lt(0.1f))));
  double sum = 0, squares = 0;
  for (double number : numbers) {
    sum += number;
    squares += number * number;
  }
  EXPECT_NEAR(sum / 6400, 0, 0.005);
  EXPECT_NEAR(std::sqrt(squares / 6400), 0.1 / std::sqrt(3), 0.003);
}

TEST(RandomStates, AreFactorsAroundOneAndSmallBiases) {
  EXPECT_THAT(numbersOf(stateOf("norm.weight", {400})),
              Each(AllOf(Ge(0.5f), Lt(1.5f))));
  EXPECT_THAT(numbersOf(stateOf("norm.bias", {400})),
              Each(AllOf(Ge(-0.1f), Lt(0.1f))));
}

/// An optimizer takes the root of a slot, and zeros stay zeros in it.
TEST(RandomStates, ArePositiveInSlots) {
  EXPECT_THAT(numbersOf(stateOf("adam/v/w", {20, 20}, Role::slot)),
              Each(AllOf(Ge(0.f), Lt(1e-6f))));
  EXPECT_THAT(numbersOf(stateOf("adam/v/w", {20, 20}, Role::slot)),
              ::testing::Contains(::testing::Gt(5e-7f)));
}

TEST(RandomStates, DifferByName) {
  StateInfo a = stateOf("a.weight", {20, 20}),
            b = stateOf("b.weight", {20, 20});
  EXPECT_EQ(numbersOf(a), numbersOf(a));
  std::vector<float> one = numbersOf(a), other = numbersOf(b);
  int equal = 0;
  for (size_t i = 0; i < one.size(); ++i)
    equal += one[i] == other[i];
  EXPECT_LT(equal, 5);
}

TEST(RandomStates, HaveTheTypesOfTheirs) {
  for (DType dtype : {DType::f64, DType::f16, DType::bf16}) {
    StateInfo state = stateOf("w", {8, 8}, Role::parameter, dtype);
    std::vector<uint8_t> bytes = randomState(state);
    ASSERT_EQ(bytes.size(), state.bytes);
    EXPECT_NE(bytes, std::vector<uint8_t>(state.bytes));
  }
}

/// What counts, what statistics and rates are, and copies, which follow.
TEST(RandomStates, LeaveAllElse) {
  for (Role role : {Role::buffer, Role::counter, Role::hyperparameter,
                    Role::seed, Role::copy})
    EXPECT_TRUE(randomState(stateOf("x", {8}, role)).empty());
  EXPECT_TRUE(randomState(stateOf("adam/decay/w", {}, Role::slot)).empty());
  EXPECT_TRUE(
      randomState(stateOf("table", {8}, Role::parameter, DType::i64)).empty());
}

/// On a device, too, whose memory is out of reach.
TEST(RandomStates, AreThoseOfASession) {
  Adder adder;
  for (const char *device : {"cpu", "fake"}) {
    auto session = adder.openOn(device);
    randomizeStates(*session);
    int total = session->findState("total");
    auto bytes = take(session->stateBytes(total));
    EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()),
              randomState(session->states()[size_t(total)]))
        << device;
    EXPECT_EQ(take(session->stepCount()), 0);
  }
}
