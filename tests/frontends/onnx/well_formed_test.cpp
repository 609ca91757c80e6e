// Models that no node of theirs can be blamed for.

#include "frontends/onnx/well_formed.h"
#include "small_model.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

SmallModel relu() {
  SmallModel model;
  model.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

} // namespace

TEST(WellFormed, IsTheNewestOpset) {
  EXPECT_EQ(import(relu().setOpset(gradus::onnx::kNewestOpset)).error, "");
}

TEST(WellFormed, IsNoOpsetFromTheFuture) {
  EXPECT_EQ(import(relu().setOpset(99)).error,
            "is of opset 99; the newest that is known is 28. Export it with "
            "opset_version=28 or less");
}

TEST(WellFormed, IsNoValueOfTwoNodes) {
  EXPECT_EQ(import(relu().node("Tanh", {"x"}, {"y"})).error,
            "gives the value \"y\" twice: by node \"the Relu\" (Relu) and by "
            "node \"the Tanh\" (Tanh)");
}

TEST(WellFormed, IsNoNodeThatGivesAnInput) {
  EXPECT_EQ(import(relu().node("Tanh", {"y"}, {"x"})).error,
            "gives the value \"x\" twice: by an input and by node \"the Tanh\" "
            "(Tanh)");
}

// Outputs that are left out have no name.
TEST(WellFormed, AreOutputsThatAreLeftOut) {
  SmallModel model;
  model.input("x", {2, 3, 4})
      .node("Dropout", {"x"}, {"a", ""})
      .node("Dropout", {"a"}, {"y", ""})
      .output("y");
  EXPECT_EQ(import(model).error, "");
}
