// Which parameters rest in which steps, as a recipe names them.

#include "passes/local/freeze_by_hand.h"

#include "tests/passes/program_text.h"

#include <gmock/gmock.h>

using namespace gradus;
using gradus::testing::PassText;
using ::testing::HasSubstr;

namespace {

const std::vector<FrozenParameter> kNet = {
    {"conv1.weight", true}, {"bn1.weight", false}, {"bn1.bias", false},
    {"conv2.weight", true}, {"fc.weight", true},   {"fc.bias", false}};

/// `0: conv1.weight bn1.weight; 10: ...`, or what was said.
std::string phases(const std::string &freeze) {
  PassText text("gradus.program @p attributes {recipe = {gradient_freeze = {" +
                freeze + "}}} {}");
  auto phases =
      freezePhases(text.program(), *gradientFreeze().of(text.program()), kNet);
  std::string result = text.messages;
  if (succeeded(phases))
    for (const FreezePhase &phase : *phases) {
      result += std::to_string(phase.firstStep) + ":";
      for (const std::string &name : phase.frozen)
        result += " " + name;
      result += ";";
    }
  return result;
}

} // namespace

TEST(FreezeByHand, BeginsWhereARecipeSays) {
  EXPECT_EQ(phases(R"(from = {"conv1*" = 10 : i64, conv2.weight = 20 : i64})"),
            "0:;10: conv1.weight;20: conv1.weight conv2.weight;");
}

TEST(FreezeByHand, EndsWhereARecipeSays) {
  EXPECT_EQ(phases(R"(until = {"conv*" = 10 : i64})"),
            "0: conv1.weight conv2.weight;10:;");
  EXPECT_EQ(
      phases(R"(until = {"bn1.*" = 5 : i64}, from = {"bn1.*" = 9 : i64})"),
      "0: bn1.bias bn1.weight;5:;9: bn1.bias bn1.weight;");
}

TEST(FreezeByHand, LeavesTheLastLayers) {
  EXPECT_EQ(phases("last_layers = 2 : i64"),
            "0: bn1.bias bn1.weight conv1.weight;");
  EXPECT_EQ(phases("last_layers = 3 : i64"), "0:;");
  EXPECT_EQ(phases("last_layers = 2 : i64, until = {conv2.weight = 7 : i64}"),
            "0: bn1.bias bn1.weight conv1.weight conv2.weight;"
            "7: bn1.bias bn1.weight conv1.weight;");
}

/// A phase that is like the one before is none of its own.
TEST(FreezeByHand, HasNoMorePhasesThanItNeeds) {
  EXPECT_EQ(phases("until = {fc.bias = 0 : i64}"), "0:;");
  EXPECT_EQ(phases(R"(from = {"fc.*" = 4 : i64, fc.bias = 8 : i64})"),
            "0:;4: fc.bias fc.weight;");
}

TEST(FreezeByHand, RefusesWhatItCannotMean) {
  EXPECT_THAT(phases(R"(from = {"conv3*" = 4 : i64})"),
              HasSubstr("gradient_freeze.from.conv3* names no parameter that "
                        "is trained; these are, nearest first: "));
  EXPECT_THAT(phases(R"(from = {"*" = 4 : i64})"),
              HasSubstr("gradient_freeze.from leaves no parameter to train "
                        "from step 4 on"));
  EXPECT_THAT(phases("last_layers = 9 : i64"),
              HasSubstr("last_layers is 9, but the model has only 3 layers"));
}
