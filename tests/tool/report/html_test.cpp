// No text becomes markup.

#include "tool/report/html.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(Html, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(escaped("<a href=\"x\">'&'"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escaped("größer → 3"), "größer → 3");
}

TEST(Html, ReplacesControlCharacters) {
  EXPECT_EQ(escaped("a\x01\n\t\x7f"), "a\xef\xbf\xbd\n\t\xef\xbf\xbd");
}

TEST(Html, MarksColumnsOfNumbers) {
  HtmlTable table({"Name", "#Bytes"});
  table.section("a <stage>");
  table.row({"x", "12"});
  std::string html = table.html();
  EXPECT_NE(html.find("<td class=\"n\">12</td>"), std::string::npos);
  EXPECT_NE(html.find("colspan=\"2\">a &lt;stage&gt;"), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"col\" class=\"n\">Bytes"),
            std::string::npos);
}

TEST(Html, ShowsAFigureWithANote) {
  EXPECT_EQ(figure("Step", "4 <", "n"),
            "<div><dt>Step</dt><dd>4 &lt;<small>n</small></dd></div>\n");
}

TEST(Html, FoldsWithoutAScript) {
  EXPECT_EQ(folded("more", "text"),
            "<details><summary>more</summary>\ntext</details>\n");
  EXPECT_EQ(folded("more", "", true).find("<details open>"), 0u);
}
