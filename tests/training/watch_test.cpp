// Statistics, and where the values of names lie.

#include "tests/training/adding.h"
#include "training/watch.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::training;
using namespace gradus::runtime;
using gradus::test::Adding;
using testing::HasSubstr;

TEST(Statistics, AreOfTheFiniteNumbers) {
  std::vector<float> numbers = {1, 3, NAN, 5, INFINITY, -1};
  Statistics of = statisticsOf({DType::f32, {6}}, numbers.data());
  EXPECT_EQ(of.mean, 2);
  EXPECT_EQ(of.std, std::sqrt(5.0));
  EXPECT_EQ(of.min, -1);
  EXPECT_EQ(of.max, 5);
  EXPECT_EQ(of.nonfinite, 2);
}

TEST(Statistics, AreNoneWhereNothingIsFinite) {
  float none = NAN;
  Statistics of = statisticsOf({DType::f32, {}}, &none);
  EXPECT_TRUE(std::isnan(of.mean) && std::isnan(of.std) && std::isnan(of.min) &&
              std::isnan(of.max));
}

TEST(Statistics, ReadAllTypes) {
  uint16_t bf16[] = {0x3f80, 0xc000}; // 1, -2
  EXPECT_EQ(statisticsOf({DType::bf16, {2}}, bf16).mean, -0.5);
  uint16_t f16[] = {0x3c00, 0xc000};
  EXPECT_EQ(statisticsOf({DType::f16, {2}}, f16).mean, -0.5);
  int64_t integer = 7;
  EXPECT_EQ(statisticsOf({DType::i64, {}}, &integer).max, 7);
  double wide[] = {0.25, 0.75};
  EXPECT_EQ(statisticsOf({DType::f64, {2}}, wide).std, 0.25);
}

/// On the processor, and where memory is out of the host's reach.
class Watching : public testing::TestWithParam<const char *> {};

INSTANTIATE_TEST_SUITE_P(Each, Watching, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(Watching, FollowsAState) {
  Adding adding({}, GetParam());
  auto &session = adding.session;
  auto watch = *Watch::create(*session, {"total"});
  std::vector<float> ones(gradus::test::kSize, 1);
  const void *inputs[] = {ones.data()};
  ASSERT_TRUE(session->step(session->findGraph("train"), inputs).ok());
  auto figures = *watch->figures();
  ASSERT_GE(figures.size(), 5u);
  EXPECT_EQ(figures[0].name, "total.mean");
  EXPECT_EQ(figures[0].value, 4.5) << "1 more than 0, 1, ... 7";
  EXPECT_EQ(figures[3].name, "total.max");
  EXPECT_EQ(figures[3].value, 8);
}

TEST_P(Watching, FollowsANode) {
  gradus::test::TestArtifact artifact;
  artifact.command(2).nodes = {"/shift"};
  Adding adding(std::move(artifact), GetParam());
  auto &session = adding.session;
  auto watch = *Watch::create(*session, {"/shift"});
  std::vector<float> ones(gradus::test::kSize, 1);
  const void *inputs[] = {ones.data()};
  for (double mean : {18, 19}) { // 11, 13, ... 25, and one more
    ASSERT_TRUE(session->step(session->findGraph("train"), inputs).ok());
    auto figures = *watch->figures();
    ASSERT_EQ(figures.size(), 5u);
    EXPECT_EQ(figures[0].name, "/shift.mean");
    EXPECT_EQ(figures[0].value, mean);
  }
}

TEST(Watch, SaysWhatANameMayHaveMeant) {
  Adding adding;
  auto advice = [](const std::string &name,
                   const std::vector<std::string> &known) {
    return "; " + name + " of " + std::to_string(known.size());
  };
  EXPECT_THAT(
      Watch::create(*adding.session, {"totl"}, advice).status().message(),
      testing::AllOf(testing::StartsWith("totl: "),
                     HasSubstr("has no state and no node of this name; totl "
                               "of ")));
}

TEST(Watch, AddsItsFiguresToAStep) {
  Adding adding;
  auto watch = *Watch::create(*adding.session, {"total"});
  std::vector<Metric> figures = {{"loss", 1}};
  StepReport report{1, 1, figures, {}, {{"before", 2}}};
  ASSERT_TRUE(watch->onStep(report).ok());
  ASSERT_GE(report.besides.size(), 6u);
  EXPECT_EQ(report.besides[0].name, "before");
  EXPECT_EQ(report.besides[1].name, "total.mean");
}
