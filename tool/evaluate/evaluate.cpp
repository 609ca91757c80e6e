// gradus evaluate: computes loss and metrics of a data set, without training.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/well_known.h"
#include "tool/commands.h"
#include "tool/evaluate/data_options.h"
#include "tool/evaluate/data_outline.h"
#include "tool/evaluate/metrics_text.h"
#include "tool/evaluate/prediction_report.h"
#include "tool/evaluate/shared_data.h"
#include "tool/evaluate/trained_normalization.h"
#include "tool/failure.h"
#include "tool/interrupt.h"
#include "tool/session/session_options.h"
#include "tool/session/shared_artifact.h"
#include "tool/text.h"
#include "training/evaluation.h"
#include "training/training_log.h"

#include <cmath>
#include <cstdio>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

struct EvaluateOptions {
  SessionOptions session;
  RankOptions ranks;
  std::vector<std::string> data;
};

constexpr const char *kFooter =
    R"(Every sample counts once: the last batch is padded and the padding masked.
Where the loss cannot leave padding out (the model computes it itself, or an
output's first axis is not the batch's), only samples that fill batches count.
Labels that the loss ignores (loss.ignore_index) do not count.
Of a loss whose labels are classes it prints how many of each class were taken for
which (up to 20 classes; --json: up to 1000), or precision and recall of each; of a
loss of numbers the mean absolute error, the root of the mean square, and R2.

Example:
  gradus evaluate lenet.gradus --checkpoint lenet.safetensors --data test.safetensors)";

/// Prints the first lines: how many ranks there are, and what data.
void printOutline(const DataOutline &outline, const Ranks &ranks) {
  if (std::string text = ranks.text(); !text.empty())
    std::printf("ranks: %s\n", printable(text).c_str());
  std::printf("data: %s\n", outline.evaluationText().c_str());
}

void print(const std::vector<Metric> &metrics, const DataOutline &outline,
           const PredictionReport &report, const Ranks &ranks, bool json) {
  int64_t counted = outline.samples - outline.leftOut;
  if (json) {
    nlohmann::ordered_json line = training::toJson(metrics);
    line["samples"] = counted;
    line["data"] = outline.toJson();
    line["ranks"] = ranks.count();
    line.update(report.json());
    printJson(line);
    return;
  }
  for (const Metric &metric : metrics)
    std::printf("%s: %s\n", printable(metric.name).c_str(),
                number("%.4f", metric.value).c_str());
  std::printf("samples: %lld\n", static_cast<long long>(counted));
  std::fputs(report.text().c_str(), stdout);
}

/// The reason why a rank among others ends between two batches: a signal, or a
/// failure of another one.
Status endOf(const Ranks &ranks) {
  if (ranks.isAlone())
    return {};
  if (Interrupt::requested())
    return {StatusCode::cancelled,
            "interrupted before all samples were evaluated, so there are no "
            "figures"};
  return ranks.thread()->failure();
}

void run(const EvaluateOptions &all, const Ranks &ranks) {
  std::optional<Interrupt> interrupt;
  if (!ranks.isAlone()) // One alone has nothing to do before a signal ends it.
    interrupt.emplace(nullptr);
  SessionOptions options = optionsOfRank(all.session, ranks);
  ranks.doing("opens its files");
  data::Dataset dataset = openData(all.data);
  auto record = sharedRecord(ranks, trainedFile(options));
  if (record)
    countClassesAs(record->classes, trainedFile(options), dataset);
  auto session = openSession(options, ranks.thread());
  shareArtifact(ranks, *session);
  checkNormalization(*session, options);
  noteInitialState(options);
  int graph = findGraph(*session, well_known::kEvaluate);
  data::Feed feed = matchData(*session, graph, dataset, Use::evaluation);
  if (!ranks.isAlone())
    ranks.agree(factsOf(feed, "samples to test on"));
  PredictionReport report(*session, graph,
                          dataset.classes() ? *dataset.classes()
                                            : std::vector<std::string>());
  DataOutline outline = DataOutline::ofEvaluation(feed);
  if (!options.json && ranks.isFirst())
    printOutline(outline, ranks);
  ranks.doing("evaluates its batches");
  bool unreadable = false;
  auto metrics = training::evaluate(
      *session, graph, feed, dataThreads(options),
      [&](auto inputs, int64_t count) {
        report.add(inputs, count);
        return endOf(ranks);
      },
      &unreadable, ranks.thread().get());
  if (unreadable)
    throw SharedFailure(failureOf(metrics.status()));
  check(metrics.status());
  if (!ranks.isAlone())
    check(report.share(*ranks.thread()));
  if (ranks.isFirst())
    print(*metrics, outline, report, ranks, options.json);
  for (const Metric &metric : *metrics)
    if (!std::isfinite(metric.value)) {
      std::string data = feed.firstNonfinite();
      throw failed(dataset.source(), ": ", metric.name, " is ", metric.value,
                   data.empty() ? "" : "; ", data);
    }
}

} // namespace

void addEvaluate(CLI::App &app) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App *command =
      app.add_subcommand("evaluate", "Loss and metrics of a data set");
  command->footer(std::string(kDataFooter) + "\n" + kFooter);
  addTrainedOptions(*command, options->session, options->data);
  addRankOptions(*command, options->ranks);
  command->callback([options] {
    runOnRanks(options->ranks,
               [&](const Ranks &ranks) { run(*options, ranks); });
  });
}

} // namespace gradus::cli
