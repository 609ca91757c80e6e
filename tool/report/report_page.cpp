// Builds the parts of a report in the order of the page.

#include "tool/report/report_page.h"

#include "messages/json_text.h"
#include "tool/report/html.h"
#include "tool/report/report_charts.h"
#include "tool/report/report_passes.h"
#include "tool/report/report_plans.h"
#include "tool/report/report_style.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

std::string textOf(const ordered_json &value) {
  return escaped(value.get<std::string>());
}

std::string section(const std::string &id, const std::string &title,
                    const std::string &content) {
  return absl::StrCat("<section id=\"", id, "\">\n<h2>", escaped(title),
                      "</h2>\n", content, "</section>\n");
}

std::string paragraph(const std::string &text,
                      const std::string &styleClass = "") {
  return element("p", styleClass.empty() ? "" : "class=\"" + styleClass + "\"",
                 text) +
         "\n";
}

//===-- main figures ------------------------------------------------------===//

std::string figures(const ordered_json &facts) {
  const ordered_json &count = facts["passes"].back()["after"];
  return "<dl class=\"figures\">\n" + planFigures(facts) +
         figure("Parameters",
                countText(count["parameter_elements"].get<double>()),
                jsonText(count["parameters"]) + " tensors") +
         figure("Compiled in",
                durationText(facts["compile_ms"].get<double>() * 1e-3),
                std::to_string(facts["passes"].size()) + " passes") +
         "</dl>\n";
}

std::string ports(const ordered_json &list) {
  return absl::StrJoin(
      list, ", ", [](std::string *out, const ordered_json &port) {
        *out += textOf(port["name"]) + " " + textOf(port["type"]);
      });
}

/// The target of a plan in words: "cpu:amx, planned for 2 threads", "cuda".
std::string targetText(const ordered_json &plan) {
  return textOf(plan["target"]) +
         (plan["images"].empty()
              ? ", planned for " + jsonText(plan["threads"]) + " threads"
              : "");
}

std::string header(const ordered_json &facts) {
  const ordered_json &artifact = facts["artifact"],
                     &step = stepOf(artifact["plans"][0]);
  std::vector<std::string> targets;
  for (const ordered_json &plan : artifact["plans"])
    targets.push_back(targetText(plan));
  return "<header>\n<div class=\"kicker\">Gradus training step</div>\n<h1>" +
         textOf(artifact["name"]) + "</h1>\n<div class=\"muted\">" +
         textOf(facts["model"]) + " for " + absl::StrJoin(targets, "; ") +
         "</div>\n<div class=\"muted mono\">" + textOf(step["name"]) + "(" +
         ports(step["inputs"]) + ") &rarr; " + ports(step["outputs"]) +
         "</div>\n" + figures(facts) +
         "<nav><a href=\"#cost\">Cost</a><a href=\"#schedule\">Schedule</a><a "
         "href=\"#memory\">Memory</a><a href=\"#passes\">Passes</a><a "
         "href=\"#remarks\">Remarks</a><a href=\"#commands\">Commands</a><a "
         "href=\"#recipe\">Recipe</a></nav>\n</header>\n";
}

//===-- schedule ----------------------------------------------------------===//

std::string rateText(const ordered_json &facts) {
  const ordered_json &points = facts["learning_rate"];
  if (points.empty())
    return paragraph("The learning rate is set by who runs the steps.");
  if (points.size() == 1)
    return paragraph("The learning rate is " +
                     number("%g", points[0][1].get<double>()) +
                     " at every step.");
  std::string run = facts["learning_rate_of_run"];
  return paragraph("Learning rate of the optimizer, by the step counter." +
                   (run.empty() ? ""
                                : " Its schedule awaits the length of the run: "
                                  "this is one of " +
                                      run + ".")) +
         rateChart(points);
}

std::string changesText(const ordered_json &schedule) {
  HtmlTable table({"#From step", "Variant"});
  for (const ordered_json &change : schedule["changes"]) {
    std::string name = schedule["variants"][change["variant"].get<size_t>()]
                           .get<std::string>();
    table.row({jsonText(change["step"]),
               keyOf(&schedule, name) + element("code", "", escaped(name))});
  }
  return table.html();
}

std::string variantsText(const ordered_json &schedule) {
  const ordered_json &shares = schedule["shares"], &first = schedule["first"];
  size_t variants = schedule["variants"].size();
  std::string html =
      paragraph(absl::StrCat("Which of ", variants, " variants of ",
                             element("code", "", textOf(schedule["graph"])),
                             " runs is a function of the step."));
  if (!shares.empty())
    html += paragraph("Shares of the steps; the schedule begins again after " +
                          jsonText(schedule["period"]) + ":",
                      "how") +
            "<div class=\"strip\">" + shareBar(shares) + "</div>\n";
  if (!schedule["changes"].empty())
    html += changesText(schedule);
  else if (!first.empty())
    html += paragraph(absl::StrCat("The first ", first.size(),
                                   " steps, a cell each:"),
                      "how") +
            "<div class=\"strip\">" + stepStrip(first, variants) + "</div>\n";
  return html;
}

std::string scheduleSection(const ordered_json &facts) {
  std::string html = rateText(facts);
  for (const ordered_json &schedule : facts["schedules"])
    html += variantsText(schedule);
  if (facts["schedules"].empty())
    html += paragraph("Every step is the same graph.");
  return section("schedule", "Schedule", html);
}

//===-- page --------------------------------------------------------------===//

/// Embeds JSON so that it cannot end the element.
std::string factsElement(const ordered_json &facts) {
  return "<script type=\"application/json\" id=\"facts\">" +
         absl::StrReplaceAll(jsonText(facts), {{"<", "\\u003c"}}) +
         "</script>\n";
}

std::string recipeSection(const ordered_json &facts) {
  std::string json = jsonText(facts["artifact"]["recipe"], 2);
  return section("recipe", "Recipe",
                 paragraph("As compiled, with all defaults.") +
                     element("pre", "", escaped(json)) + "\n");
}

} // namespace

std::string reportPage(const ordered_json &facts) {
  std::string name = textOf(facts["artifact"]["name"]);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
         "charset=\"utf-8\">\n<meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\">\n<title>" +
         name + " - Gradus report</title>\n<style>" + kReportStyle +
         "</style>\n</head>\n<body>\n<main>\n" + header(facts) +
         section("cost", "Cost of each graph", costTables(facts)) +
         scheduleSection(facts) +
         section("memory", "Memory over the step", memoryCharts(facts)) +
         section("passes", "Passes", passTable(facts)) +
         section("remarks", "Remarks", remarkLists(facts)) +
         section("commands", "Commands in their order", commandTables(facts)) +
         recipeSection(facts) + "<footer>" +
         textOf(facts["artifact"]["producer"]) +
         ". The facts of this page stand in it as JSON, in the element "
         "<code>facts</code>.</footer>\n</main>\n" +
         factsElement(facts) + "</body>\n</html>\n";
}

} // namespace gradus::cli
