// The last lines of training: test figures, sizes, times.

#include "tool/train/training_summary.h"

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/flat.h"
#include "runtime/well_known.h"
#include "tool/text.h"
#include "training/training_log.h"

#include <cstdio>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {

ordered_json TrainingSummary::toJson(const TrainOptions &options,
                                     const Session &session) const {
  int64_t ran = done - start;
  ordered_json object = {{"steps", done},
                         {"test", training::toJson(test)},
                         {"training_samples", trainingSamples},
                         {"test_samples", testSamples},
                         {"artifact", options.session.artifact},
                         {"artifact_bytes", session.artifact().size()},
                         {"checkpoint", options.checkpoint.path},
                         {"predicted_bytes", session.memory().predicted()},
                         {"at_load_bytes", session.memory().atLoad},
                         {"measured_bytes", measuredBytes},
                         {"ms_per_step", ran ? stepSeconds / ran * 1e3 : 0},
                         {"ranks", ranks},
                         {"threads", session.threads()},
                         {"device", session.runsOn()},
                         {"seconds", seconds}};
  if (!best.empty())
    object.update({{"best", best}, {"stopped_early", stoppedEarly}});
  return object;
}

bool runsOnHost(const Session &session) {
  return isOfKind(textOf(session.plan().target()), "cpu");
}

static Table summaryTable(const ordered_json &figures,
                          const TrainingSummary &summary,
                          const Session &session, bool validation) {
  auto bytes = [&](const char *key) {
    return bytesText(figures[key].get<double>());
  };
  auto text = [&](const char *key) { return figures[key].get<std::string>(); };
  Table table;
  if (!summary.test.empty())
    table.row({"test", metricsText(summary.test)});
  if (!summary.best.empty())
    table.row({"best", summary.best});
  table.row(
      {"artifact", text("artifact") + " (" + bytes("artifact_bytes") + ")"});
  if (!text("checkpoint").empty())
    table.row({"checkpoint", text("checkpoint")});
  if (validation)
    table.row({"validation", std::to_string(summary.testSamples) + " of " +
                                 std::to_string(summary.testSamples +
                                                summary.trainingSamples) +
                                 " samples"});
  table.row({"memory", "predicted " + bytes("predicted_bytes") +
                           (session.memory().atLoad
                                ? " and " + bytes("at_load_bytes") + " at load"
                                : "") +
                           ", measured " + bytes("measured_bytes") +
                           (runsOnHost(session) ? "" : " of the host's")});
  table.row(
      {"step",
       durationText(figures["ms_per_step"].get<double>() / 1e3) + " (" +
           std::to_string(summary.done - summary.start) + " steps, " +
           (summary.ranks > 1 ? std::to_string(summary.ranks) + " ranks of "
                              : "") +
           text("device") + ")"});
  table.row({"time", durationText(summary.seconds)});
  return table;
}

void TrainingSummary::print(const TrainOptions &options,
                            const Session &session) const {
  ordered_json figures = toJson(options, session);
  if (options.session.json) {
    printJson(figures);
    return;
  }
  if (stoppedEarly)
    std::printf("stopped early after step %lld of %lld: %lld evaluations found "
                "nothing better than %s\n",
                static_cast<long long>(done), static_cast<long long>(total),
                static_cast<long long>(options.test.patience), best.c_str());
  else if (done == start)
    std::printf("the state is at step %lld of %lld already: nothing to train\n",
                static_cast<long long>(done), static_cast<long long>(total));
  for (const Metric &metric : test)
    if (metric.name != well_known::kLoss)
      std::printf("test %s: %s\n", printable(metric.name).c_str(),
                  number("%.3f", metric.value).c_str());
  std::fputs(summaryTable(figures, *this, session, options.test.validation > 0)
                 .text()
                 .c_str(),
             stdout);
}

} // namespace gradus::cli
