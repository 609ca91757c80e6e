// Which `inputs.normalize` make the same values.

#include "tool/evaluate/trained_normalization.h"

#include <gtest/gtest.h>

using gradus::cli::otherwiseNormalized;

namespace {

std::string differs(const char *one, const char *other) {
  return otherwiseNormalized(nlohmann::json::parse(one),
                             nlohmann::json::parse(other));
}

} // namespace

TEST(TrainedNormalization, IsTheSameInWhateverWords) {
  EXPECT_EQ(differs("{}", "{}"), "");
  EXPECT_EQ(differs(R"({"x": {"mean": [5], "std": [2.0]}})",
                    R"({"x": {"mean": [5.0, 5.0], "std": [2]}})"),
            "")
      << "one number for each channel";
  EXPECT_EQ(differs(R"({"x": {"mean": [0], "std": [1]}})", "{}"), "")
      << "values stay as they are";
  EXPECT_EQ(differs(R"({"x": {"mean": [0.1]}})",
                    R"({"x": {"mean": [0.10000000001]}})"),
            "")
      << "both are one number of f32";
}

TEST(TrainedNormalization, NamesAnInputThatHasOtherValues) {
  EXPECT_EQ(differs(R"({"x": {"mean": [5]}})", "{}"), "x");
  EXPECT_EQ(differs("{}", R"({"x": {"std": [2]}})"), "x");
  EXPECT_EQ(differs(R"({"a": {"mean": [5]}, "x": {"mean": [1, 2]}})",
                    R"({"a": {"mean": [5]}, "x": {"mean": [1, 3]}})"),
            "x");
  EXPECT_EQ(
      differs(R"({"x": {"mean": [1, 1]}})", R"({"x": {"mean": [1, 1, 1]}})"),
      "x")
      << "of other numbers of channels";
}
