// The parts of a report in the order of the page.

#include "frontends/cli/report_page.h"

#include "frontends/cli/html.h"
#include "frontends/cli/report_charts.h"
#include "frontends/cli/report_passes.h"
#include "frontends/cli/report_style.h"
#include "frontends/cli/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <algorithm>
#include <cctype>

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

const ordered_json &planOf(const ordered_json &facts) {
  return facts["artifact"]["plans"][0];
}

const ordered_json *findNamed(const ordered_json &list,
                              const std::string &name) {
  for (const ordered_json &each : list)
    if (each["name"] == name)
      return &each;
  return nullptr;
}

/// The step that is trained with; of a program without one its first graph.
const ordered_json &stepOf(const ordered_json &facts) {
  const ordered_json &graphs = planOf(facts)["graphs"];
  const ordered_json *train = findNamed(graphs, "train");
  return train ? *train : graphs[0];
}

/// Of the step, if it has variants.
const ordered_json *scheduleOf(const ordered_json &facts) {
  for (const ordered_json &schedule : facts["schedules"])
    if (schedule["graph"] == stepOf(facts)["name"])
      return &schedule;
  return nullptr;
}

//===-- at a glance -------------------------------------------------------===//

std::string figure(const std::string &name, const std::string &value,
                   const std::string &note = "") {
  return "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) +
         (note.empty() ? "" : element("small", "", escaped(note))) +
         "</dd></div>\n";
}

/// "89.3 MFLOP"
std::string flopText(double flops) {
  std::string text = countText(flops);
  bool hasUnit = !text.empty() && !std::isdigit(text.back());
  return hasUnit ? text.substr(0, text.size() - 1) + " " + text.back() + "FLOP"
                 : text + " FLOP";
}

std::string figures(const ordered_json &facts) {
  const ordered_json &plan = planOf(facts), &step = stepOf(facts);
  const ordered_json &count = facts["passes"].back()["after"];
  double arena = plan["arena_bytes"].get<double>(),
         bound = std::max(1.0, plan["bound_bytes"].get<double>());
  return "<dl class=\"figures\">\n" +
         figure("Step", flopText(step["flops"].get<double>()),
                std::to_string(step["commands"].size()) + " commands") +
         figure("Expected time",
                durationText(step["expected_ms"].get<double>() * 1e-3),
                "estimated, not measured") +
         figure("Parameters",
                countText(count["parameter_elements"].get<double>()),
                count["parameters"].dump() + " tensors") +
         figure("State", bytesText(plan["state_bytes"].get<double>()),
                std::to_string(facts["artifact"]["states"].size()) +
                    " tensors") +
         figure("Arena", bytesText(arena),
                number("%.3f", arena / bound) + " x bound") +
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

std::string header(const ordered_json &facts) {
  const ordered_json &artifact = facts["artifact"], &step = stepOf(facts);
  std::vector<std::string> targets;
  for (const ordered_json &plan : artifact["plans"])
    targets.push_back(textOf(plan["target"]));
  return "<header>\n<div class=\"kicker\">Gradus training step</div>\n<h1>" +
         textOf(artifact["name"]) + "</h1>\n<div class=\"muted\">" +
         textOf(facts["model"]) + " for " + absl::StrJoin(targets, ", ") +
         ", planned for " + planOf(facts)["threads"].dump() +
         " threads</div>\n<div class=\"muted mono\">" + textOf(step["name"]) +
         "(" + ports(step["inputs"]) + ") &rarr; " + ports(step["outputs"]) +
         "</div>\n" + figures(facts) +
         "<nav><a href=\"#cost\">Cost</a><a href=\"#schedule\">Schedule</a><a "
         "href=\"#memory\">Memory</a><a href=\"#passes\">Passes</a><a "
         "href=\"#remarks\">Remarks</a><a href=\"#commands\">Commands</a><a "
         "href=\"#recipe\">Recipe</a></nav>\n</header>\n";
}

//===-- cost --------------------------------------------------------------===//

std::string shareOf(const ordered_json *schedule, const std::string &graph) {
  if (!schedule)
    return "";
  const ordered_json &variants = (*schedule)["variants"],
                     &shares = (*schedule)["shares"];
  for (size_t i = 0; i < variants.size() && i < shares.size(); ++i)
    if (variants[i] == graph)
      return number("%.1f %%", shares[i].get<double>() * 100);
  return "";
}

std::string keyOf(const ordered_json *schedule, const std::string &graph) {
  if (!schedule)
    return "";
  const ordered_json &variants = (*schedule)["variants"];
  for (size_t i = 0; i < variants.size(); ++i)
    if (variants[i] == graph)
      return "<span class=\"key " + variantClass(i, variants.size()) +
             "\"></span>";
  return "";
}

std::string barOf(double part) {
  return "<span class=\"bar\" style=\"width:" +
         number("%.1f", std::clamp(part, 0.0, 1.0) * 100) + "%\"></span>";
}

/// The sum over variants of share and cost; nothing without shares.
double meanOf(const ordered_json &facts, const char *key) {
  const ordered_json *schedule = scheduleOf(facts);
  const ordered_json &graphs = planOf(facts)["graphs"];
  double mean = 0;
  for (size_t i = 0; schedule && i < (*schedule)["shares"].size(); ++i)
    if (const ordered_json *graph =
            findNamed(graphs, (*schedule)["variants"][i].get<std::string>()))
      mean +=
          (*schedule)["shares"][i].get<double>() * (*graph)[key].get<double>();
  return mean;
}

/// The step and its variants in their order, then the others.
std::vector<const ordered_json *> inOrder(const ordered_json &facts) {
  const ordered_json &graphs = planOf(facts)["graphs"];
  std::vector<const ordered_json *> sorted = {&stepOf(facts)};
  auto add = [&](const ordered_json *graph) {
    if (graph && std::find(sorted.begin(), sorted.end(), graph) == sorted.end())
      sorted.push_back(graph);
  };
  if (const ordered_json *schedule = scheduleOf(facts))
    for (const ordered_json &variant : (*schedule)["variants"])
      add(findNamed(graphs, variant.get<std::string>()));
  for (const ordered_json &graph : graphs)
    add(&graph);
  return sorted;
}

std::string costSection(const ordered_json &facts) {
  const ordered_json *schedule = scheduleOf(facts);
  double most = 1e-12;
  for (const ordered_json &graph : planOf(facts)["graphs"])
    most = std::max(most, graph["expected_ms"].get<double>());
  HtmlTable table({"Graph", "#Expected ms", "", "#Share of steps", "#FLOP",
                   "#Bytes", "#Peak memory", "#Commands"});
  for (const ordered_json *each : inOrder(facts)) {
    const ordered_json &graph = *each;
    std::string name = graph["name"].get<std::string>();
    double ms = graph["expected_ms"].get<double>();
    table.row({keyOf(schedule, name) + element("code", "", escaped(name)),
               millisecondsText(ms), barOf(ms / most), shareOf(schedule, name),
               countText(graph["flops"].get<double>()),
               countText(graph["bytes"].get<double>()),
               bytesText(graph["peak_bytes"].get<double>()),
               std::to_string(graph["commands"].size())});
  }
  if (double mean = meanOf(facts, "expected_ms"); mean > 0)
    table.row({"mean of the schedule", millisecondsText(mean),
               barOf(mean / most), "", countText(meanOf(facts, "flops")),
               countText(meanOf(facts, "bytes")), "", ""},
              "sum");
  std::string how = facts["artifact"]["rates"]["how"].get<std::string>();
  return section("cost", "Cost of each graph",
                 table.html() +
                     paragraph(escaped(how) + ". <code>gradus bench</code> "
                                              "measures.",
                               "how"));
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
  return paragraph("Learning rate of the optimizer, by the step counter.") +
         rateChart(points);
}

std::string changesText(const ordered_json &schedule) {
  HtmlTable table({"#From step", "Variant"});
  for (const ordered_json &change : schedule["changes"]) {
    std::string name = schedule["variants"][change["variant"].get<size_t>()]
                           .get<std::string>();
    table.row({change["step"].dump(),
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
                          schedule["period"].dump() + ":",
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

//===-- memory ------------------------------------------------------------===//

/// The buffers of the arena that are live at the peak, largest first.
std::vector<const ordered_json *> liveAtPeak(const ordered_json &step) {
  int peak = step["peak_command"].get<int>();
  std::vector<const ordered_json *> live;
  for (const ordered_json &entry : step["map"])
    if (entry["region"] == "arena" && entry["first"].get<int>() <= peak &&
        entry["last"].get<int>() >= peak)
      live.push_back(&entry);
  auto order = [](const ordered_json *entry) {
    return std::pair(-(*entry)["size"].get<int64_t>(),
                     (*entry)["offset"].get<int64_t>());
  };
  std::sort(live.begin(), live.end(),
            [&](auto *a, auto *b) { return order(a) < order(b); });
  return live;
}

/// Of many the first and the last; all where the pointer rests.
std::string nodeNames(const ordered_json &list) {
  constexpr size_t kNamed = 3;
  auto nodes = list.get<std::vector<std::string>>();
  std::string all = escaped(absl::StrJoin(nodes, " "));
  if (nodes.size() > kNamed)
    nodes = {nodes.front(), "...", nodes.back()};
  return "<span class=\"muted\" title=\"" + all + "\">" +
         escaped(absl::StrJoin(nodes, " ")) + "</span>";
}

/// The nodes of the model that made a buffer.
std::string nodesOf(const ordered_json &step, const ordered_json &entry) {
  size_t command = entry["first"].get<size_t>();
  if (command >= step["commands"].size() ||
      step["commands"][command]["name"] != entry["use"])
    return "";
  return " " + nodeNames(step["commands"][command]["nodes"]);
}

std::string liveTable(const ordered_json &step) {
  constexpr size_t kShown = 12;
  std::vector<const ordered_json *> live = liveAtPeak(step);
  double peak = std::max(1.0, step["peak_bytes"].get<double>()), rest = 0;
  HtmlTable table({"Live at the peak", "#Bytes", "", "Type", "#From", "#To"});
  for (size_t i = 0; i < live.size(); ++i) {
    const ordered_json &entry = *live[i];
    double size = entry["size"].get<double>();
    if (i < kShown)
      table.row({textOf(entry["use"]) + nodesOf(step, entry), bytesText(size),
                 barOf(size / peak), element("code", "", textOf(entry["type"])),
                 entry["first"].dump(), entry["last"].dump()});
    else
      rest += size;
  }
  if (live.size() > kShown)
    table.row({absl::StrCat("and ", live.size() - kShown, " more"),
               bytesText(rest), barOf(rest / peak), "", "", ""});
  return table.html();
}

std::string memorySection(const ordered_json &facts) {
  const ordered_json &plan = planOf(facts), &step = stepOf(facts);
  size_t at = step["peak_command"].get<size_t>();
  std::string where;
  if (at < step["commands"].size())
    where =
        absl::StrCat(" at command ", at, " of ", step["commands"].size(), ", ",
                     element("code", "", textOf(step["commands"][at]["name"])));
  std::string words = absl::StrCat(
      "A step of ", element("code", "", textOf(step["name"])), " uses at most ",
      bytesText(step["peak_bytes"].get<double>()), " of the arena", where,
      ". Beside it lie ", bytesText(plan["state_bytes"].get<double>()),
      " of state (parameters, optimizer, counters) and ",
      bytesText(plan["code_bytes"].get<double>()), " of machine code.");
  return section("memory", "Memory over the step",
                 paragraph(words) +
                     memoryChart(step, plan["arena_bytes"].get<uint64_t>()) +
                     paragraph("Above the bytes in use, below where each "
                               "buffer lies and for how long; in colour what "
                               "is live at the peak.",
                               "how") +
                     liveTable(step));
}

//===-- commands ----------------------------------------------------------===//

std::string commandTable(const ordered_json &step) {
  double most = 1e-12;
  for (const ordered_json &command : step["commands"])
    most = std::max(most, command["expected_us"].get<double>());
  HtmlTable table({"#", "Command", "Kind", "Model nodes", "#Expected us", "",
                   "#FLOP", "#Bytes", "#Live"});
  for (size_t i = 0; i < step["commands"].size(); ++i) {
    const ordered_json &command = step["commands"][i];
    double us = command["expected_us"].get<double>();
    table.row({std::to_string(i), textOf(command["name"]),
               textOf(command["kind"]), nodeNames(command["nodes"]),
               number("%.1f", us), barOf(us / most),
               countText(command["flops"].get<double>()),
               countText(command["bytes"].get<double>()),
               bytesText(step["live_bytes"][i].get<double>())},
              i == step["peak_command"].get<size_t>() ? "peak" : "");
  }
  return table.html();
}

std::string commandsSection(const ordered_json &facts) {
  std::string html;
  for (const ordered_json *graph : inOrder(facts))
    html += folded(element("code", "", textOf((*graph)["name"])) +
                       " <span class=\"muted\">" +
                       std::to_string((*graph)["commands"].size()) +
                       " commands</span>",
                   commandTable(*graph), graph == &stepOf(facts));
  return section("commands", "Commands in their order", html);
}

//===-- the whole ---------------------------------------------------------===//

/// JSON that no element can end in.
std::string factsElement(const ordered_json &facts) {
  return "<script type=\"application/json\" id=\"facts\">" +
         absl::StrReplaceAll(facts.dump(), {{"<", "\\u003c"}}) + "</script>\n";
}

std::string recipeSection(const ordered_json &facts) {
  std::string json = facts["artifact"]["recipe"].dump(2);
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
         costSection(facts) + scheduleSection(facts) + memorySection(facts) +
         section("passes", "Passes", passTable(facts)) +
         section("remarks", "Remarks", remarkLists(facts)) +
         commandsSection(facts) + recipeSection(facts) + "<footer>" +
         textOf(facts["artifact"]["producer"]) +
         ". The facts of this page stand in it as JSON, in the element "
         "<code>facts</code>.</footer>\n</main>\n" +
         factsElement(facts) + "</body>\n</html>\n";
}

} // namespace gradus::cli
