// Joins the compiler's trace with the facts in the artifact.

#include "tool/report/compile_report.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"
#include "tool/report/page.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

ordered_json countJson(const compiler::ProgramCount &count) {
  ordered_json graphs = ordered_json::array();
  for (const compiler::GraphCount &graph : count.graphs)
    graphs.push_back({{"name", graph.name},
                      {"ops", graph.ops},
                      {"flops", graph.flops},
                      {"bytes", graph.bytes}});
  return {{"graphs", graphs},
          {"parameters", count.parameters},
          {"parameter_elements", count.parameterElements},
          {"state_bytes", count.stateBytes}};
}

ordered_json passesJson(const compiler::Trace &trace) {
  ordered_json all = ordered_json::array();
  for (const compiler::PassRecord &pass : trace.passes)
    all.push_back({{"stage", pass.stage},
                   {"pass", pass.pass},
                   {"ms", pass.milliseconds},
                   {"remarks", pass.remarks},
                   {"before", countJson(pass.before)},
                   {"after", countJson(pass.after)}});
  return all;
}

ordered_json remarksJson(const compiler::Trace &trace) {
  ordered_json all = ordered_json::array();
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  for (const compiler::PassRemark &remark : trace.remarks) {
    auto [found, isNew] =
        known.try_emplace({remark.pass, remark.kind, remark.text}, all.size());
    if (isNew)
      all.push_back({{"pass", remark.pass},
                     {"name", remark.name},
                     {"kind", remark.kind},
                     {"text", remark.text},
                     {"count", 0},
                     {"places", ordered_json::array()}});
    ordered_json &same = all[found->second];
    same["count"] = same["count"].get<int64_t>() + 1;
    ordered_json &places = same["places"];
    if (!remark.place.empty() &&
        std::find(places.begin(), places.end(), remark.place) == places.end())
      places.push_back(remark.place);
  }
  return all;
}

ordered_json schedulesJson(const compiler::Trace &trace) {
  ordered_json all = ordered_json::array();
  for (const compiler::StepSchedule &schedule : trace.schedules) {
    ordered_json changes = ordered_json::array();
    for (const auto &change : schedule.changes)
      changes.push_back({{"step", change.step}, {"variant", change.variant}});
    all.push_back({{"graph", schedule.graph},
                   {"variants", schedule.variants},
                   {"period", schedule.period},
                   {"shares", schedule.shares},
                   {"first", schedule.first},
                   {"changes", changes}});
  }
  return all;
}

/// Removes what the report does not show: the memory maps of all graphs except
/// `train`, the schedules, of which the trace says more, and the compiler of
/// the program, which is this one.
void leaveOut(ordered_json &artifact) {
  artifact.erase("schedules");
  if (artifact.contains("program") && artifact["program"].is_object())
    artifact["program"].erase("compiler");
  for (ordered_json &plan : artifact["plans"])
    for (ordered_json &graph : plan["graphs"])
      if (graph["name"] != well_known::kTrain)
        graph["map"] = ordered_json::array();
}

} // namespace

ordered_json compileReport(ordered_json artifact, const compiler::Trace &trace,
                           const std::string &model, double milliseconds) {
  ordered_json rates = ordered_json::array();
  for (const compiler::RatePoint &point : trace.learningRate.points)
    rates.push_back({point.step, point.rate});
  leaveOut(artifact);
  ordered_json data = reportHead("compile");
  data.update({{"producer", artifact.value("producer", "")},
               {"model", std::filesystem::path(model).filename().string()},
               {"compile_ms", milliseconds},
               {"modules", trace.modules},
               {"passes", passesJson(trace)},
               {"remarks", remarksJson(trace)},
               {"schedules", schedulesJson(trace)},
               {"learning_rate", rates},
               {"learning_rate_of_run", trace.learningRate.run},
               {"artifact", std::move(artifact)}});
  return utf8Json(data);
}

} // namespace gradus::cli
