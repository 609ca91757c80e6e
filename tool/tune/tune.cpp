// gradus tune: measures which algorithms are fastest on a GPU for the calls of
// libraries, for `compile --tuning`.

#include "frontends/compiler/tuning_file.h"
#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/flat.h"
#include "runtime/session/choose_plan.h"
#include "tool/commands.h"
#include "tool/failure.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
#include "tool/progress.h"
#include "tool/session/session_options.h"
#include "tool/text.h"

#include <cstdio>
#include <filesystem>
#include <optional>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct Options {
  std::string artifact, device = "cuda", output;
  runtime::TuneOptions tuning;
  bool json = false;
};

constexpr const char *kFooter =
    R"(Each different call of the device's plan is computed by each algorithm that its
library has for it, in turns, on memory of its own. One that takes at least 2 %
less time than the library's own choice goes into the file. What is slower there
stays as it is: the library chooses.

A file is of one card. Where it is there already, calls that are measured now take
the place of what it has for them, and others stay: so one file serves several
models. An algorithm is taken on a card of that name, with that very version of the
library; elsewhere the library chooses.

Examples:
  gradus compile gpt2.onnx --recipe recipe.json --target cuda -o gpt2.gradus
  gradus tune gpt2.gradus --device cuda -o h200.json
  gradus compile gpt2.onnx --recipe recipe.json --target cuda --tuning h200.json \
      -o gpt2.gradus)";

/// The current contents of the output file; a file for another GPU is not
/// overwritten. A device that is not a GPU refuses to be tuned.
compiler::TuningFile formerFile(const Options &options,
                                const std::string &card) {
  if (card.empty())
    return {};
  std::error_code none;
  bool isThere = std::filesystem::is_regular_file(options.output, none) &&
                 std::filesystem::file_size(options.output, none) > 0;
  compiler::TuningFile file;
  if (isThere)
    file = take(compiler::readTuningFile(options.output));
  if (isThere && file.card != card)
    throw badInput(options.output, ": is of card ", file.card,
                   ", and this one is ", card,
                   ": give it another file; compile --tuning takes several");
  file.card = card;
  return file;
}

std::vector<compiler::MeasuredChoice>
choicesOf(const std::vector<TunedCall> &calls) {
  std::vector<compiler::MeasuredChoice> choices;
  for (const TunedCall &call : calls)
    choices.push_back({call.call, call.library, call.algorithm,
                       call.microseconds, call.defaultMicroseconds});
  return choices;
}

std::vector<TunedCall> measure(const Options &options, Device &device,
                               const artifact::Plan &plan) {
  std::optional<Progress> progress;
  runtime::TuneOptions tuning = options.tuning;
  tuning.progress = [&](size_t number, size_t count) {
    if (!progress)
      progress.emplace(int64_t(count), 0, Progress::onTerminal());
    progress->update(int64_t(number), "calls");
  };
  auto calls = device.tune(plan, tuning);
  if (progress)
    progress->clear();
  check(at(calls.status(), options.artifact));
  return *std::move(calls);
}

ordered_json jsonOf(const Options &options, const std::string &card,
                    const std::vector<TunedCall> &calls) {
  ordered_json all = ordered_json::array();
  for (const TunedCall &call : calls)
    all.push_back({{"call", call.call},
                   {"library", call.library},
                   {"candidates", call.candidates},
                   {"algorithm", call.algorithm},
                   {"microseconds", call.microseconds},
                   {"default_microseconds", call.defaultMicroseconds}});
  return {{"artifact", options.artifact},
          {"device", options.device},
          {"card", card},
          {"calls", std::move(all)}};
}

void print(const Options &options, const std::string &card,
           const std::vector<TunedCall> &calls) {
  std::printf("%s on %s\n", printable(options.artifact).c_str(),
              printable(card).c_str());
  // Calls are longer than a line of a terminal, so they come last.
  Table table({"algorithms", "default us", "best us", "ratio", "call"});
  size_t faster = 0;
  for (const TunedCall &call : calls) {
    bool isFaster = !call.algorithm.empty();
    faster += isFaster;
    table.row({std::to_string(call.candidates + 1),
               number("%.2f", call.defaultMicroseconds),
               isFaster ? number("%.2f", call.microseconds) : "",
               isFaster ? number("%.2fx",
                                 call.defaultMicroseconds / call.microseconds)
                        : "",
               call.call});
  }
  std::fputs(table.text().c_str(), stdout);
  std::printf("%zu of %zu calls have an algorithm that is faster: %s\n", faster,
              calls.size(), printable(options.output).c_str());
}

void tune(const Options &options) {
  checkOutputFiles({{"-o", options.output}},
                   {{"the artifact", options.artifact}});
  checkWritable({options.output});
  auto artifact = take(Artifact::open(options.artifact));
  auto opened = openDeviceFor(artifact->header(), options.device);
  check(at(opened.status(), options.artifact));
  auto device = *std::move(opened);
  auto plan = choosePlan(artifact->header(), *device);
  check(at(plan.status(), options.artifact));
  compiler::TuningFile file = formerFile(options, device->cardName());
  std::vector<TunedCall> calls = measure(options, *device, **plan);
  if (calls.empty())
    throw badInput(options.artifact, ": plan ", textOf((*plan)->target()),
                   " calls no library, so that there is nothing to tune");
  file.update(choicesOf(calls));
  writeWhole(options.output, file.text());
  if (options.json)
    printJson(jsonOf(options, file.card, calls));
  else
    print(options, file.card, calls);
}

} // namespace

void addTune(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "tune", "Finds the fastest algorithms of libraries on a card");
  command->footer(kFooter);
  command->add_option("artifact", options->artifact, "The .gradus file")
      ->required();
  command->add_option("--device", options->device,
                      "Where to measure: cuda, cuda:1, emulated (cuda)");
  command
      ->add_option(
          "-o,--output", options->output,
          "The file of choices (.json), which is made or brought up to "
          "date")
      ->required();
  command
      ->add_option("--trials", options->tuning.trials,
                   "How often each algorithm is measured (20)")
      ->check(wholeNumber(1, 10000));
  command->add_flag("--json", options->json, "The times as a JSON object");
  command->callback([options] { tune(*options); });
}

} // namespace gradus::cli
