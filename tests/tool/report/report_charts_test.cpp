// Drawings are inline, and their words escaped.

#include "tool/report/report_charts.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using nlohmann::ordered_json;

static bool has(const std::string &html, const std::string &part) {
  return html.find(part) != std::string::npos;
}

TEST(ReportCharts, DrawWhatIsLiveAtThePeakApart) {
  ordered_json graph = {{"live_bytes", {64, 128}},
                        {"peak_command", 1},
                        {"map",
                         {{{"region", "arena"},
                           {"offset", 0},
                           {"size", 64},
                           {"type", "f32"},
                           {"use", "a<b"},
                           {"first", 0},
                           {"last", 0}},
                          {{"region", "arena"},
                           {"offset", 0},
                           {"size", 128},
                           {"type", "f32"},
                           {"use", "c"},
                           {"first", 1},
                           {"last", 2}},
                          {{"region", "state"},
                           {"offset", 0},
                           {"size", 64},
                           {"type", "f32"},
                           {"use", "weight"},
                           {"first", 0},
                           {"last", 1}}}}};
  std::string html = memoryChart(graph, 128);
  EXPECT_TRUE(has(html, "class=\"buffer\"><title>a&lt;b"));
  EXPECT_TRUE(has(html, "class=\"buffer live\"><title>c"));
  EXPECT_FALSE(has(html, "weight"));
  EXPECT_TRUE(has(html, "M0 130V65.00H500.00V0.00H1000.00V130Z"));
}

TEST(ReportCharts, ReachTheHighestRate) {
  ordered_json points = {{0, 0.0}, {10, 0.5}};
  EXPECT_TRUE(has(rateChart(points), "M0.00 128.00L1000.00 2.00"));
}

TEST(ReportCharts, ShadeVariantsFromTheFirstToTheLast) {
  EXPECT_EQ(variantClass(0, 10), "v0");
  EXPECT_EQ(variantClass(1, 10), "v1");
  EXPECT_EQ(variantClass(9, 10), "v5");
  EXPECT_EQ(variantClass(2, 3), "v2");
  EXPECT_TRUE(has(shareBar({0.7, 0.3}), "x=\"700.00\""));
  EXPECT_TRUE(has(stepStrip({0, 1}, 2), "x=\"500.00\""));
}
