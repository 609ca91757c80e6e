#include "passes/optimizers/parameters.h"

#include "tests/passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;

static std::string program(const char *recipe) {
  return std::string("gradus.program @p attributes {recipe = {") + recipe +
         R"(}} {
  gradus.state @body.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.weight : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @head.bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
})";
}

static std::vector<std::string> trained(const char *recipe) {
  PassText source(program(recipe));
  std::vector<std::string> names;
  for (StateOp state : trainedParameters(source.program()))
    names.push_back(state.getSymName().str());
  return names;
}

TEST(Parameters, AllAreTrainedUnlessTheRecipeSaysSo) {
  EXPECT_EQ(trained(""), (std::vector<std::string>{"body.weight", "head.weight",
                                                   "head.bias"}));
}

TEST(Parameters, FixedOnesAreTakenFromTheTrainable) {
  EXPECT_EQ(trained(R"(trainable = ["head.*"], fixed = ["*.bias"])"),
            (std::vector<std::string>{"head.weight"}));
}

TEST(Parameters, TheLastGroupThatMatchesDecides) {
  PassText source(program(R"(optimizer = {type = "sgd", weight_decay = 1.0e-1},
      groups = [{match = ["head.*"], weight_decay = 2.0e-1, learning_rate_factor = 3.0},
                {match = ["*.bias"], weight_decay = 0.0, learning_rate_factor = 2.0}])"));
  ParameterGroups groups(source.program());
  EXPECT_EQ(groups.settingsOf("body.weight").common.weightDecay.initial, 0.1);
  EXPECT_EQ(groups.settingsOf("head.weight").common.weightDecay.initial, 0.2);
  EXPECT_EQ(groups.settingsOf("head.bias").common.weightDecay.initial, 0.0);
  EXPECT_EQ(groups.settingsOf("head.bias").learningRateFactor, 6.0);
}
