#include "passes/loss_scale_groups.h"

#include "passes/state.h"
#include "program_text.h"

#include <cmath>

using namespace gradus;
using gradus::testing::PassText;

namespace {

constexpr const char *kStates = R"(
  gradus.state @conv1.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc.weight : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc.mean : tensor<f32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) { gradus.return }
)";

std::string program(const std::string &recipe) {
  return "gradus.program @p attributes {recipe = {" + recipe + "}} {" +
         kStates + "}";
}

constexpr const char *kTwoGroups =
    "loss_scale = {type = \"group\", groups = [[\"conv*\"], [\"fc*\"]]}";

} // namespace

TEST(LossScaleGroups, AreThereIfAskedFor) {
  for (std::string recipe :
       {"", "loss_scale = false", "loss_scale = {type = \"static\"}",
        "loss_scale = {type = \"dynamic\"}"})
    EXPECT_FALSE(ScaleGroups::of(PassText(program(recipe)).program()))
        << recipe;
  PassText text(program(kTwoGroups));
  auto groups = ScaleGroups::of(text.program());
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->size(), 2u);
}

TEST(LossScaleGroups, DoubleIn1000StepsAndHalveInTwoOverflows) {
  PassText text(program(kTwoGroups));
  const LossScaleSettings settings =
      ScaleGroups::of(text.program())->settings();
  EXPECT_NEAR(std::pow(settings.growth, 1000), 2, 1e-12);
  EXPECT_NEAR(std::pow(settings.reduction, 2), 0.5, 1e-15);
  EXPECT_EQ(settings.initials, std::vector<double>{65536});
  EXPECT_EQ(settings.minimum, 1);
  EXPECT_EQ(settings.maximum, 16777216);
}

TEST(LossScaleGroups, FindTheGroupOfAParameter) {
  PassText text(program(kTwoGroups));
  auto groups = ScaleGroups::of(text.program());
  EXPECT_EQ(groups->groupOf("conv1.weight"), 0u);
  EXPECT_EQ(groups->groupOf("fc.weight"), 1u);
  EXPECT_EQ(groups->groupOf("norm.weight"), std::nullopt);
}

/// A buffer is in no need of a group, and a group is of parameters.
TEST(LossScaleGroups, AreOfParameters) {
  PassText text(program(kTwoGroups));
  auto groups = ScaleGroups::of(text.program());
  std::vector<StateOp> trained = {text.program().getState("conv1.weight"),
                                  text.program().getState("fc.weight")};
  EXPECT_TRUE(succeeded(groups->verify(trained)));
  EXPECT_EQ(text.messages, "");
  PassText buffer(program("loss_scale = {type = \"group\", groups = [[\"*\"], "
                          "[\"fc.mean\"]]}"));
  EXPECT_TRUE(failed(ScaleGroups::of(buffer.program())->verify({})));
  EXPECT_EQ(buffer.messages,
            "recipe: loss_scale.groups[1] has \"fc.mean\", which names no "
            "parameter of the model; it has, nearest first: fc.weight, "
            "conv1.weight\n");
}

/// Each state starts as the recipe says, and all alike where it says one
/// number.
TEST(LossScaleGroups, HaveAStateEach) {
  PassText text(
      program("loss_scale = {type = \"group\", groups = [[\"conv*\"], "
              "[\"fc*\"]], initial = [8.0, 4.0]}"));
  auto groups = ScaleGroups::of(text.program());
  GraphOp train = text.program().getGraph("train");
  auto builder = mlir::OpBuilder::atBlockBegin(&train.getBody().front());
  for (size_t group : {0, 1})
    EXPECT_TRUE(groups->read(builder, train.getLoc(), group));
  for (auto [name, initial] :
       {std::pair("loss_scale/0", 8.0), {"loss_scale/1", 4.0}}) {
    StateOp state = text.program().getState(name);
    ASSERT_TRUE(state) << name;
    EXPECT_EQ(state.getRole(), Role::hyperparameter);
    EXPECT_EQ(state.getInit()->getValue().getValueAsDouble(), initial);
  }
}
