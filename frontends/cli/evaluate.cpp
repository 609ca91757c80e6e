// gradus evaluate: loss and metrics of a data set, without training.

#include "frontends/cli/commands.h"
#include "frontends/cli/evaluation.h"
#include "frontends/cli/failure.h"
#include "frontends/cli/session_options.h"
#include "frontends/cli/training_log.h"

#include <cstdio>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

struct EvaluateOptions {
  SessionOptions session;
  std::vector<std::string> data;
};

constexpr const char *kFooter =
    R"(Every sample counts once: the last batch is padded and the padding masked.

Example:
  gradus evaluate lenet.gradus --checkpoint lenet.safetensors --data test.safetensors)";

void run(const EvaluateOptions &options) {
  data::Dataset dataset = take(data::Dataset::open(options.data));
  auto session = openSession(options.session);
  int graph = findGraph(*session, "evaluate");
  data::Feed feed = take(data::Feed::match(
      dataset, session->graphs()[graph].inputs, labelRule(*session)));
  std::vector<Metric> metrics = evaluate(*session, graph, feed);
  if (options.session.json) {
    nlohmann::ordered_json line = toJson(metrics);
    line["samples"] = feed.samples();
    std::puts(line.dump().c_str());
    return;
  }
  for (const Metric &metric : metrics)
    std::printf("%s: %.4f\n", metric.name.c_str(), metric.value);
  std::printf("samples: %lld\n", static_cast<long long>(feed.samples()));
}

} // namespace

void addEvaluate(CLI::App &app) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App *command =
      app.add_subcommand("evaluate", "Loss and metrics of a data set");
  command->footer(kFooter);
  addSessionOptions(*command, options->session);
  command->add_option("--checkpoint", options->session.resume,
                      "The state, whole");
  command->add_option("--init", options->session.init,
                      "Parameters only, where there is no checkpoint");
  command->add_option("--data", options->data, "FILE or NAME=FILE")
      ->required()
      ->allow_extra_args(false);
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
