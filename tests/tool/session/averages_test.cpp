// Averages of weights in a file, and an artifact that keeps none.

#include "tests/tool/adder.h"
#include "tool/failure.h"
#include "tool/session/averages.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using namespace gradus::runtime;
using testing::HasSubstr;

namespace {

/// What is said of a file with one average of these numbers under that name.
std::string refusal(const std::string &name, std::vector<float> numbers) {
  std::string path = testing::TempDir() + "/averages.safetensors";
  NamedTensor tensor{name,
                     {DType::f32, {int64_t(numbers.size())}},
                     {reinterpret_cast<const uint8_t *>(numbers.data()),
                      numbers.size() * sizeof(float)}};
  EXPECT_TRUE(writeSafetensors(path, {tensor}).ok());
  try {
    verifyAverages(*Safetensors::open(path), path);
  } catch (const Failure &failure) {
    return failure.what();
  }
  return "";
}

} // namespace

TEST(Averages, StandForTheirParameters) {
  auto rename = namedAsParameters(
      [](const std::string &name) { return name == "w" ? "weight" : name; });
  EXPECT_EQ(rename("ema/average/w"), "weight");
  EXPECT_EQ(rename("ema/average/b"), "b");
  EXPECT_EQ(rename("b"), "b");
  EXPECT_EQ(averagedName(averageName("fc.bias")), "fc.bias");
  EXPECT_EQ(averagedName("fc.bias"), "");
  EXPECT_EQ(averagedName("lookahead/slow/w"), "");
  EXPECT_EQ(copiedName("lookahead/slow/w"), "w");
  EXPECT_EQ(copiedName("ema/average/w"), "w");
  EXPECT_EQ(copiedName("w"), "");
}

TEST(Averages, MustBeInTheFile) {
  EXPECT_EQ(refusal("ema/average/w", {0, 1}), "");
  EXPECT_THAT(refusal("w", {0, 1}),
              HasSubstr("holds no averages of weights ("));
  EXPECT_THAT(
      refusal("ema/average/w", {0, 0}),
      HasSubstr("holds no averages of weights yet: no update was made"));
}

TEST(Averages, MustBeKeptByTheArtifact) {
  Adder adder;
  auto session = adder.open();
  EXPECT_THROW(takeAverages(*session), Failure);
  EXPECT_THROW(findEvaluation(*session, true), Failure);
  EXPECT_EQ(findEvaluation(*session, false), session->findGraph("evaluate"));
}

TEST(Averages, AreReadWhereTheyAreEvaluated) {
  gradus::test::TestArtifact made;
  for (const char *slot : {"sgd/momentum/total", "ema/average/total"})
    made.addOwn(slot, 1);
  for (auto &state : made.header.states)
    state->per_rank |= state->name == "total" || state->name == "step";
  Adder adder(made);
  auto session = adder.open();
  auto names = [&](bool averaged) {
    std::vector<std::string> names;
    for (int state : ownEvaluated(*session, averaged))
      names.push_back(session->states()[static_cast<size_t>(state)].name);
    return names;
  };
  EXPECT_THAT(names(false), testing::ElementsAre("total"));
  EXPECT_THAT(names(true), testing::ElementsAre("total", "ema/average/total"));
}
