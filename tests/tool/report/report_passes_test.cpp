// The table of passes shows what a pass changed, and leads to what it said.

#include "tool/report/report_passes.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using nlohmann::ordered_json;

static bool has(const std::string &html, const std::string &part) {
  return html.find(part) != std::string::npos;
}

static ordered_json count(int ops) {
  return {{"graphs",
           {{{"name", "train"}, {"ops", ops}, {"flops", 10}, {"bytes", 20}}}},
          {"parameters", 2},
          {"parameter_elements", 30},
          {"state_bytes", 120}};
}

static ordered_json facts() {
  return {{"passes",
           {{{"stage", "optimize"},
             {"pass", "cse"},
             {"ms", 0.5},
             {"remarks", 3},
             {"before", count(8)},
             {"after", count(5)}}}},
          {"remarks",
           {{{"pass", "cse"},
             {"kind", "left"},
             {"text", "1 < 2"},
             {"count", 3},
             {"places", {"node \"a\"", "line 1:2"}}}}}};
}

TEST(ReportPasses, ShowWhatANumberWas) {
  std::string html = passTable(facts());
  EXPECT_TRUE(has(html, "<span class=\"was\">8 &rarr;</span> <span "
                        "class=\"now\">5</span>"));
  EXPECT_TRUE(has(html, "<span class=\"same\">10</span>"));
  EXPECT_TRUE(has(html, ">optimize</th>"));
  EXPECT_TRUE(has(html, "<a href=\"#remarks-cse\">3</a>"));
}

TEST(ReportPasses, SayRemarksWithTheirPlaces) {
  std::string html = remarkLists(facts());
  EXPECT_TRUE(has(html, "id=\"remarks-cse\""));
  EXPECT_TRUE(has(html, "<b>left</b> 1 &lt; 2 <span class=\"muted\">a, "
                        "line 1:2, 3 times</span>"));
}
