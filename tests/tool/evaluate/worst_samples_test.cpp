// The samples with the greatest losses, in their order.

#include "tool/evaluate/worst_samples.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::cli;

static SampleResult sample(int64_t index, double loss) {
  SampleResult result;
  result.sample = index;
  result.loss = loss;
  return result;
}

TEST(WorstSamples, KeepsTheGreatestLossesAndNaNFirst) {
  WorstSamples worst(3);
  int drawn = 0;
  auto picture = [&] { return "picture " + std::to_string(++drawn); };
  const double losses[] = {1, 3, 3, 0.5, NAN};
  for (int64_t i = 0; i < 5; ++i)
    worst.add(sample(i, losses[i]), picture);
  auto json = worst.json();
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["sample"], 4);
  EXPECT_EQ(json[0].dump().find("\"loss\":null"), 12u) << json[0];
  EXPECT_EQ(json[1]["sample"], 1); // of equal losses the first stands first
  EXPECT_EQ(json[2]["sample"], 2);
  EXPECT_EQ(json[0]["picture"], "picture 4");
  EXPECT_EQ(drawn, 4); // That of 0.5 is not among the worst.
}

TEST(WorstSamples, HasWhatIsKnownOfALabel) {
  WorstSamples worst(1);
  SampleResult result = sample(7, 2);
  result.label = 3;
  worst.add(result, [] { return ""; });
  EXPECT_EQ(worst.json()[0]["label"], 3);
  EXPECT_TRUE(worst.json()[0]["predicted"].is_null());
}
