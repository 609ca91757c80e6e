// Plans of an artifact have the same graphs, but their own commands, memory and
// devices.

#include "tool/report/report_plans.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"
#include "tool/report/html.h"
#include "tool/report/report_charts.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cctype>

using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

std::string textOf(const ordered_json &value) {
  return escaped(value.get<std::string>());
}

const ordered_json *findNamed(const ordered_json &list,
                              const std::string &name) {
  for (const ordered_json &each : list)
    if (each["name"] == name)
      return &each;
  return nullptr;
}

const ordered_json &plansOf(const ordered_json &facts) {
  return facts["artifact"]["plans"];
}

/// Joins a part for each plan, each under its name.
template <typename Part>
std::string forEachPlan(const ordered_json &facts, Part part) {
  std::string html;
  for (const ordered_json &plan : plansOf(facts))
    html += (plansOf(facts).size() > 1
                 ? element("h3", "", "plan " + textOf(plan["target"])) + "\n"
                 : "") +
            part(plan);
  return html;
}

/// The step and its variants in their order, then the other graphs.
std::vector<const ordered_json *> inOrder(const ordered_json &plan,
                                          const ordered_json *schedule) {
  const ordered_json &graphs = plan["graphs"];
  std::vector<const ordered_json *> sorted = {&stepOf(plan)};
  auto add = [&](const ordered_json *graph) {
    if (graph && std::find(sorted.begin(), sorted.end(), graph) == sorted.end())
      sorted.push_back(graph);
  };
  if (schedule)
    for (const ordered_json &variant : (*schedule)["variants"])
      add(findNamed(graphs, variant.get<std::string>()));
  for (const ordered_json &graph : graphs)
    add(&graph);
  return sorted;
}

std::string barOf(double part) {
  return "<span class=\"bar\" style=\"width:" +
         number("%.1f", std::clamp(part, 0.0, 1.0) * 100) + "%\"></span>";
}

/// The titles of columns, one for each device: "#Expected ms", "#H200 ms".
std::vector<std::string> deviceColumns(const ordered_json &plan,
                                       const std::string &unit) {
  std::vector<std::string> columns;
  for (const ordered_json &device : plan["rates"]) {
    std::string title = device["title"].get<std::string>();
    columns.push_back("#" + (title.empty() ? "Expected" : title) + " " + unit);
  }
  return columns;
}

//===-- main figures ------------------------------------------------------===//

/// FLOPs in words: "89.3 MFLOP".
std::string flopText(double flops) {
  std::string text = countText(flops);
  bool hasUnit = !text.empty() && !std::isdigit(text.back());
  return hasUnit ? text.substr(0, text.size() - 1) + " " + text.back() + "FLOP"
                 : text + " FLOP";
}

/// The figures of a plan; `of` is ", cuda" if there are several plans.
std::string figuresOf(const ordered_json &plan, const std::string &of) {
  const ordered_json &step = stepOf(plan);
  double arena = plan["arena_bytes"].get<double>(),
         bound = std::max(1.0, plan["bound_bytes"].get<double>());
  std::string html =
      figure("Step" + of, flopText(step["flops"].get<double>()),
             std::to_string(step["commands"].size()) + " commands");
  for (size_t i = 0; i < plan["rates"].size(); ++i) {
    std::string card = plan["rates"][i]["title"];
    html += figure(card.empty() ? "Expected time" : "Expected, " + card,
                   durationText(step["expected_ms"][i].get<double>() * 1e-3),
                   card.empty() ? "estimated, not measured"
                                : "at least, by its data sheet");
  }
  return html + figure("Arena" + of, bytesText(arena),
                       number("%.3f", arena / bound) + " x bound");
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

/// The sum over variants of share and cost; nothing without shares. `cost`
/// returns the cost of a graph.
template <typename Cost>
double meanOf(const ordered_json &plan, const ordered_json *schedule,
              Cost cost) {
  double mean = 0;
  for (size_t i = 0; schedule && i < (*schedule)["shares"].size(); ++i)
    if (const ordered_json *graph = findNamed(
            plan["graphs"], (*schedule)["variants"][i].get<std::string>()))
      mean += (*schedule)["shares"][i].get<double>() * cost(*graph);
  return mean;
}

/// The costs of one plan: a column for each device, with bars for the first.
class CostTable {
public:
  CostTable(const ordered_json &plan, const ordered_json *schedule)
      : plan_(plan), schedule_(schedule), devices_(plan["rates"].size()) {
    for (const ordered_json &graph : plan["graphs"])
      most_ = std::max(most_, devices_ ? expected(graph, 0) : 0);
  }

  std::string html() const {
    HtmlTable table(titles());
    for (const ordered_json *graph : inOrder(plan_, schedule_))
      table.row(rowOf(*graph));
    if (meanOf(plan_, schedule_, [](auto &) { return 1.0; }) > 0)
      table.row(meanRow(), "sum");
    return table.html();
  }

private:
  static double expected(const ordered_json &graph, size_t device) {
    return graph["expected_ms"][device].get<double>();
  }

  std::vector<std::string> titles() const {
    std::vector<std::string> titles = {"Graph"};
    for (std::string &device : deviceColumns(plan_, "ms"))
      titles.push_back(std::move(device));
    if (devices_)
      titles.emplace_back("");
    titles.insert(titles.end(), {"#Share of steps", "#FLOP", "#Bytes",
                                 "#Peak memory", "#Commands"});
    return titles;
  }

  void addTimes(std::vector<std::string> &row,
                const std::vector<double> &ms) const {
    for (double each : ms)
      row.push_back(millisecondsText(each));
    if (devices_)
      row.push_back(barOf(ms[0] / most_));
  }

  std::vector<std::string> rowOf(const ordered_json &graph) const {
    std::string name = graph["name"].get<std::string>();
    std::vector<std::string> row = {keyOf(schedule_, name) +
                                    element("code", "", escaped(name))};
    addTimes(row, graph["expected_ms"].get<std::vector<double>>());
    row.insert(row.end(), {shareOf(schedule_, name),
                           countText(graph["flops"].get<double>()),
                           countText(graph["bytes"].get<double>()),
                           bytesText(graph["peak_bytes"].get<double>()),
                           std::to_string(graph["commands"].size())});
    return row;
  }

  std::vector<std::string> meanRow() const {
    auto mean = [&](const char *key) {
      return meanOf(plan_, schedule_, [&](const ordered_json &graph) {
        return graph[key].get<double>();
      });
    };
    std::vector<double> ms;
    for (size_t i = 0; i < devices_; ++i)
      ms.push_back(meanOf(plan_, schedule_, [&](const ordered_json &graph) {
        return expected(graph, i);
      }));
    std::vector<std::string> row = {"mean of the schedule"};
    addTimes(row, ms);
    row.insert(row.end(), {"", countText(mean("flops")),
                           countText(mean("bytes")), "", ""});
    return row;
  }

  const ordered_json &plan_;
  const ordered_json *schedule_;
  size_t devices_;
  double most_ = 1e-12;
};

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

/// Shows only the first and last of many nodes; a tooltip has all.
std::string nodeNames(const ordered_json &list) {
  constexpr size_t kNamed = 3;
  auto nodes = list.get<std::vector<std::string>>();
  std::string all = escaped(absl::StrJoin(nodes, " "));
  if (nodes.size() > kNamed)
    nodes = {nodes.front(), "...", nodes.back()};
  return "<span class=\"muted\" title=\"" + all + "\">" +
         escaped(absl::StrJoin(nodes, " ")) + "</span>";
}

/// The nodes of the model that computed a buffer.
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
                 jsonText(entry["first"]), jsonText(entry["last"])});
    else
      rest += size;
  }
  if (live.size() > kShown)
    table.row({absl::StrCat("and ", live.size() - kShown, " more"),
               bytesText(rest), barOf(rest / peak), "", "", ""});
  return table.html();
}

std::string memoryOf(const ordered_json &plan) {
  const ordered_json &step = stepOf(plan);
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
  return element("p", "", words) + "\n" +
         memoryChart(step, plan["arena_bytes"].get<uint64_t>()) +
         element("p", "class=\"how\"",
                 "Above the bytes in use, below where each buffer lies and for "
                 "how long; in colour what is live at the peak.") +
         "\n" + liveTable(step);
}

//===-- commands ----------------------------------------------------------===//

/// Adds the microseconds on each device, and a bar for the first.
void addTimes(std::vector<std::string> &row, const ordered_json &command,
              double most) {
  const ordered_json &times = command["expected_us"];
  for (const ordered_json &us : times)
    row.push_back(number("%.1f", us.get<double>()));
  if (!times.empty())
    row.push_back(barOf(times[0].get<double>() / most));
}

std::string commandTable(const ordered_json &plan, const ordered_json &step) {
  double most = 1e-12;
  bool isTimed = !plan["rates"].empty();
  for (const ordered_json &command : step["commands"])
    if (isTimed)
      most = std::max(most, command["expected_us"][0].get<double>());
  std::vector<std::string> titles = {"#", "Command", "Kind", "Model nodes"};
  for (std::string &device : deviceColumns(plan, "us"))
    titles.push_back(std::move(device));
  if (isTimed)
    titles.emplace_back("");
  titles.insert(titles.end(), {"#FLOP", "#Bytes", "#Live"});
  HtmlTable table(titles);
  for (size_t i = 0; i < step["commands"].size(); ++i) {
    const ordered_json &command = step["commands"][i];
    std::vector<std::string> row = {std::to_string(i), textOf(command["name"]),
                                    textOf(command["kind"]),
                                    nodeNames(command["nodes"])};
    addTimes(row, command, most);
    row.insert(row.end(), {countText(command["flops"].get<double>()),
                           countText(command["bytes"].get<double>()),
                           bytesText(step["live_bytes"][i].get<double>())});
    table.row(row, i == step["peak_command"].get<size_t>() ? "peak" : "");
  }
  return table.html();
}

} // namespace

const ordered_json &stepOf(const ordered_json &plan) {
  const ordered_json *train = findNamed(plan["graphs"], well_known::kTrain);
  return train ? *train : plan["graphs"][0];
}

const ordered_json *scheduleOf(const ordered_json &facts) {
  for (const ordered_json &schedule : facts["schedules"])
    if (schedule["graph"] == stepOf(plansOf(facts)[0])["name"])
      return &schedule;
  return nullptr;
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

std::string planFigures(const ordered_json &facts) {
  const ordered_json &plans = plansOf(facts);
  std::string html;
  for (const ordered_json &plan : plans)
    html += figuresOf(
        plan, plans.size() > 1 ? ", " + plan["target"].get<std::string>() : "");
  return html + figure("State",
                       bytesText(plans[0]["state_bytes"].get<double>()),
                       std::to_string(facts["artifact"]["states"].size()) +
                           " tensors");
}

std::string costTables(const ordered_json &facts) {
  return forEachPlan(facts, [&](const ordered_json &plan) {
    std::string how = plan["how"].get<std::string>();
    return CostTable(plan, scheduleOf(facts)).html() +
           element("p", "class=\"how\"",
                   escaped(how) + (how.empty() ? "" : ". ") +
                       "<code>gradus bench</code> measures.") +
           "\n";
  });
}

std::string memoryCharts(const ordered_json &facts) {
  return forEachPlan(facts, memoryOf);
}

std::string commandTables(const ordered_json &facts) {
  return forEachPlan(facts, [&](const ordered_json &plan) {
    std::string html;
    for (const ordered_json *graph : inOrder(plan, scheduleOf(facts)))
      html += folded(element("code", "", textOf((*graph)["name"])) +
                         " <span class=\"muted\">" +
                         std::to_string((*graph)["commands"].size()) +
                         " commands</span>",
                     commandTable(plan, *graph), graph == &stepOf(plan));
    return html;
  });
}

} // namespace gradus::cli
