#include "passes/optimizers/parameter_lists.h"

#include "tests/passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

using List = std::vector<int64_t>;

/// The lists of a program with parameters a, b and m, as text.
std::string listsOf(const std::string &recipe) {
  std::string text =
      "gradus.program @p attributes {recipe = {" + recipe + "}} {";
  for (std::string name : {"a", "b", "m"})
    text += "gradus.state @" + name +
            " : tensor<2xf32> {role = #gradus.role<parameter>, init = "
            "#gradus.init<zeros>}\n";
  PassText source(text + "}");
  std::string said;
  for (const ParameterList &list : parameterLists(source.program())) {
    said += list.name + ":";
    for (StateOp parameter : list.parameters)
      said += " " + parameter.getSymName().str();
    said += "\n";
  }
  return said;
}

} // namespace

TEST(GradientGroups, AreHalvesUnlessSplit) {
  EXPECT_EQ(gradientGroups(6, {}), (List{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(gradientGroups(10, {2, 5}), (List{1, 1, 2, 2, 2, 3, 3, 3, 3, 3}));
}

// Another list begins at 1 again, a point at 0 begins at 2, as in MindSpore.
TEST(GradientGroups, BeginAnewEachTime) {
  EXPECT_EQ(gradientGroups(6, {}), gradientGroups(6, {}));
  EXPECT_EQ(gradientGroups(3, {0, 7}), (List{2, 2, 2}));
}

/// What no group names, such as the multiplier of a head, has the optimizer's
/// settings, not those of a group.
TEST(ParameterLists, GatherWhatNoGroupNames) {
  EXPECT_EQ(
      listsOf("groups = [{match = [\"a\"], learning_rate = 0.1}, {match = "
              "[\"b\"], learning_rate = 0.2}]"),
      "groups.0 (a): a\ngroups.1 (b): b\nothers: m\n");
}

TEST(ParameterLists, LeaveOutAGroupWithoutParameters) {
  EXPECT_EQ(listsOf("groups = [{match = [\"a\", \"b\", \"m\"]}, {match = "
                    "[\"c\"]}]"),
            "groups.0 (a, b, m): a b m\n");
}

TEST(ParameterLists, SplitGradients) {
  EXPECT_EQ(listsOf("distribution = {gradient_splits = [2 : i64]}"),
            "gradients 1: a b\ngradients 2: m\n");
  EXPECT_EQ(
      listsOf("fixed = [\"a\"], distribution = {gradient_splits = [1 : i64]}"),
      "gradients 1: b\ngradients 2: m\n");
}

TEST(ParameterLists, AreNoneWithoutGroups) { EXPECT_EQ(listsOf(""), ""); }
