// Statistics, and where the values of names lie.

#include "tests/tool/adder.h"
#include "tool/failure.h"
#include "tool/train/watch.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::cli;
using namespace gradus::runtime;
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
  Adder adder;
  auto session = adder.openOn(GetParam());
  Watch watch(*session, {"total"});
  std::vector<float> ones(gradus::test::kSize, 1);
  const void *inputs[] = {ones.data()};
  ASSERT_TRUE(session->step(session->findGraph("train"), inputs).ok());
  auto figures = watch.figures();
  ASSERT_GE(figures.size(), 5u);
  EXPECT_EQ(figures[0].name, "total.mean");
  EXPECT_EQ(figures[0].value, 4.5) << "1 more than 0, 1, ... 7";
  EXPECT_EQ(figures[3].name, "total.max");
  EXPECT_EQ(figures[3].value, 8);
}

TEST_P(Watching, FollowsANode) {
  gradus::test::TestArtifact artifact;
  artifact.command(2).nodes = {"/shift"};
  Adder adder(std::move(artifact));
  auto session = adder.openOn(GetParam());
  Watch watch(*session, {"/shift"});
  std::vector<float> ones(gradus::test::kSize, 1);
  const void *inputs[] = {ones.data()};
  for (double mean : {18, 19}) { // 11, 13, ... 25, and one more
    ASSERT_TRUE(session->step(session->findGraph("train"), inputs).ok());
    auto figures = watch.figures();
    ASSERT_EQ(figures.size(), 5u);
    EXPECT_EQ(figures[0].name, "/shift.mean");
    EXPECT_EQ(figures[0].value, mean);
  }
}

TEST(Watch, SaysWhatANameMayHaveMeant) {
  Adder adder;
  auto session = adder.open();
  try {
    Watch watch(*session, {"totl"});
    FAIL() << "it was taken";
  } catch (const Failure &failure) {
    EXPECT_THAT(failure.what(),
                HasSubstr("has no state and no node of this name; did you "
                          "mean 'total'?"));
  }
}
