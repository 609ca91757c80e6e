// A number that a pass changed is shown with its old value.

#include "tool/report/report_passes.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"
#include "tool/report/html.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <functional>

using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

using Shown = std::function<std::string(double)>;

/// The graph @train, or before there is one the model itself.
const ordered_json &stepOf(const ordered_json &count) {
  static const ordered_json none = {{"ops", 0}, {"flops", 0}, {"bytes", 0}};
  for (const char *name : {well_known::kTrain, well_known::kPredict})
    for (const ordered_json &graph : count["graphs"])
      if (graph["name"] == name)
        return graph;
  return count["graphs"].empty() ? none : count["graphs"][0];
}

std::string change(double before, double after, const Shown &shown) {
  if (before == after || shown(before) == shown(after))
    return element("span", "class=\"same\"", shown(after));
  return "<span class=\"was\">" + shown(before) +
         " &rarr;</span> <span class=\"now\">" + shown(after) + "</span>";
}

std::string whole(double value) { return number("%.0f", value); }

size_t remarksOf(const ordered_json &facts, const std::string &pass) {
  size_t count = 0;
  for (const ordered_json &remark : facts["remarks"])
    if (remark["pass"] == pass)
      count += remark["count"].get<size_t>();
  return count;
}

/// A link to the remarks of a pass.
std::string remarkLink(const ordered_json &pass) {
  if (pass["remarks"] == 0)
    return "";
  return "<a href=\"#remarks-" + escaped(pass["pass"].get<std::string>()) +
         "\">" + jsonText(pass["remarks"]) + "</a>";
}

void addRow(const ordered_json &pass, HtmlTable &table) {
  const ordered_json &before = pass["before"], &after = pass["after"];
  const ordered_json &was = stepOf(before), &is = stepOf(after);
  auto step = [&](const char *key, const Shown &shown) {
    return change(was[key].get<double>(), is[key].get<double>(), shown);
  };
  std::string name = pass["pass"].get<std::string>();
  table.row({element("code", "", escaped(name)),
             change(before["graphs"].size(), after["graphs"].size(), whole),
             step("ops", whole), step("flops", countText),
             step("bytes", bytesText),
             change(before["parameter_elements"].get<double>(),
                    after["parameter_elements"].get<double>(), countText),
             change(before["state_bytes"].get<double>(),
                    after["state_bytes"].get<double>(), bytesText),
             number("%.2f", pass["ms"].get<double>()), remarkLink(pass)});
}

/// The name in `node "/conv1/Conv"`.
std::string shortPlace(const std::string &place) {
  const std::string before = "node \"";
  bool isNode = place.rfind(before, 0) == 0 && place.back() == '"';
  return isNode ? place.substr(before.size(), place.size() - before.size() - 1)
                : place;
}

/// The places of a remark, and how many there are.
std::string placesText(const ordered_json &remark) {
  constexpr size_t kNamed = 6;
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, remark["places"].size()); ++i)
    text += (i ? ", " : "") +
            escaped(shortPlace(remark["places"][i].get<std::string>()));
  if (remark["places"].size() > kNamed)
    text += absl::StrCat(" and ", remark["places"].size() - kNamed, " more");
  if (size_t count = remark["count"].get<size_t>(); count > 1)
    text += absl::StrCat(text.empty() ? "" : ", ", count, " times");
  return text.empty() ? "" : " " + element("span", "class=\"muted\"", text);
}

std::string remarkList(const ordered_json &facts, const std::string &pass) {
  std::string items;
  for (const ordered_json &remark : facts["remarks"])
    if (remark["pass"] == pass) {
      std::string kind = escaped(remark["kind"].get<std::string>());
      items += element("li", "class=\"" + kind + "\"",
                       element("b", "", kind) + " " +
                           escaped(remark["text"].get<std::string>()) +
                           placesText(remark)) +
               "\n";
    }
  return element("ul", "class=\"remarks\"", "\n" + items);
}

/// The passes in the order of their first remark.
std::vector<std::string> passesWithRemarks(const ordered_json &facts) {
  std::vector<std::string> passes;
  for (const ordered_json &remark : facts["remarks"]) {
    std::string pass = remark["pass"].get<std::string>();
    if (std::find(passes.begin(), passes.end(), pass) == passes.end())
      passes.push_back(pass);
  }
  return passes;
}

} // namespace

std::string passTable(const ordered_json &facts) {
  HtmlTable table({"Pass", "#Graphs", "#Ops", "#FLOP", "#Bytes of values",
                   "#Parameters", "#State", "#ms", "#Remarks"});
  std::string stage;
  for (const ordered_json &pass : facts["passes"]) {
    if (pass["stage"] != stage)
      table.section(stage = pass["stage"].get<std::string>());
    addRow(pass, table);
  }
  return "<p class=\"how\">In the order in which they ran, under the stages of "
         "the pipeline. Ops, FLOP and the bytes of all values are those of the "
         "step <code>train</code>, and of the model before there is "
         "one.</p>\n" +
         table.html();
}

std::string remarkLists(const ordered_json &facts) {
  constexpr size_t kFew = 12; // lines that are not folded
  std::string html;
  for (const std::string &pass : passesWithRemarks(facts)) {
    std::string list = remarkList(facts, pass);
    size_t lines = std::count(list.begin(), list.end(), '\n');
    html +=
        "<div id=\"remarks-" + escaped(pass) + "\">" +
        folded(element("code", "", escaped(pass)) + " <span class=\"muted\">" +
                   std::to_string(remarksOf(facts, pass)) + "</span>",
               list, lines <= kFew) +
        "</div>\n";
  }
  return html.empty() ? "<p>No pass had anything to say.</p>\n"
                      : "<p class=\"how\"><b>done</b>: what a pass did; "
                        "<b>left</b>: what it found and left alone, with the "
                        "reason.</p>\n" +
                            html;
}

} // namespace gradus::cli
