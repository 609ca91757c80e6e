// A page holds its data so that they cannot become markup; a name in .json
// gives the data alone.

#include "tool/report/page.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using nlohmann::ordered_json;

/// The text between the tags of the element `data`.
static std::string dataOf(const std::string &page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(ReportPage, HoldsItsDataAndNoMark) {
  ordered_json data = reportHead("run");
  data["name"] = "lenet";
  std::string page = reportText("a.html", data);
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u);
  EXPECT_EQ(ordered_json::parse(dataOf(page)), data);
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  EXPECT_EQ(page.find("@SCRIPT@"), std::string::npos);
  EXPECT_NE(page.find("function draw("), std::string::npos);
}

TEST(ReportPage, NoTextOfTheDataEndsTheirElement) {
  ordered_json data = reportHead("run");
  data["name"] = "</script><!--<script>\xe2\x80\xa8\xe2\x80\xa9 @DATA@";
  std::string page = reportText("a.html", data), embedded = dataOf(page);
  EXPECT_EQ(embedded.find('<'), std::string::npos);
  EXPECT_EQ(embedded.find("\xe2\x80\xa8"), std::string::npos);
  EXPECT_EQ(embedded.find("\xe2\x80\xa9"), std::string::npos);
  EXPECT_EQ(ordered_json::parse(embedded), data);
}

TEST(ReportPage, IsItsDataAloneUnderANameOfJson) {
  ordered_json data = reportHead("compile");
  EXPECT_EQ(ordered_json::parse(reportText("a.json", data)), data);
}
