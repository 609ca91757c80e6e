// A curve keeps its ends and extremes however many values it has.

#include "tool/report/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using gradus::cli::Curve;
using gradus::cli::Curves;
using nlohmann::ordered_json;

TEST(Curve, KeepsEveryValueOfAShortRun) {
  Curve curve;
  for (int64_t step = 5; step < 8; ++step)
    curve.add(step, double(step) / 2);
  EXPECT_EQ(curve.json().dump(),
            R"({"points":[[5,2.5],[6,3.0],[7,3.5]],"values":3,"width":1,)"
            R"("not_finite":0,"first_not_finite":null})");
}

TEST(Curve, IsBoundedAndKeepsExtremes) {
  constexpr int64_t kSteps = 1000000;
  Curve curve;
  for (int64_t step = 1; step <= kSteps; ++step)
    curve.add(step, step == 777777   ? 100
                    : step == 333333 ? -100
                                     : std::sin(double(step)));
  ordered_json json = curve.json(), points = json["points"];
  EXPECT_LE(points.size(), 2002u);
  EXPECT_GT(points.size(), 900u);
  EXPECT_EQ(json["values"], kSteps);
  EXPECT_EQ(points.front()[0], 1);
  EXPECT_EQ(points.back()[0], kSteps);
  EXPECT_NE(
      std::find(points.begin(), points.end(), ordered_json({777777, 100.0})),
      points.end());
  EXPECT_NE(
      std::find(points.begin(), points.end(), ordered_json({333333, -100.0})),
      points.end());
  for (size_t i = 1; i < points.size(); ++i)
    ASSERT_LT(points[i - 1][0], points[i][0]);
}

TEST(Curve, CountsWhatIsNotFinite) {
  Curve curve;
  curve.add(1, 1);
  curve.add(2, std::numeric_limits<double>::quiet_NaN());
  curve.add(3, std::numeric_limits<double>::infinity());
  ordered_json json = curve.json();
  EXPECT_EQ(json["points"].dump(), "[[1,1.0]]");
  EXPECT_EQ(json["values"], 3);
  EXPECT_EQ(json["not_finite"], 2);
  EXPECT_EQ(json["first_not_finite"], 2);
}

TEST(Curve, IsEmptyWithoutAValue) {
  EXPECT_EQ(Curve().json()["points"].dump(), "[]");
}

TEST(Curves, AreTakenApartByWhatTheyAreOf) {
  Curves curves;
  curves.add("step", 1, {{"loss", 2}, {"accuracy", 0.5}});
  curves.add("test", 1, {{"loss", 3}});
  curves.add("step", 2, {{"loss", 1}});
  ordered_json json = curves.json();
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["name"], "loss");
  EXPECT_EQ(json[0]["points"].dump(), "[[1,2.0],[2,1.0]]");
  EXPECT_EQ(json[1]["name"], "accuracy");
  EXPECT_EQ(json[2]["of"], "test");
}
