// Compiles two artifacts: one gives the losses and the final state; the outputs
// of the other are the gradients, which nothing rounds or consumes.

#include "tool/check/check_run.h"

#include "messages/caught.h"
#include "messages/json_text.h"
#include "runtime/artifact/winograd.h"
#include "runtime/session/devices.h"
#include "runtime/well_known.h"
#include "tool/check/trainer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <chrono>

namespace gradus::check {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

class Run {
public:
  Run(compiler::Compiler &compiler, const RecordedCase &recorded,
      const std::string &file, const Json &run, const Options &options,
      Outcome &outcome)
      : compiler_(compiler), recorded_(recorded), file_(file),
        options_(options), outcome_(outcome), comparison_(recorded, file, run) {
    request_.model = recorded.pathOf(file);
    request_.recipe.text = recorded.recipe(file, run);
    addFlags(options, request_);
    request_.plan.threads = options.threads;
    request_.plan.targets = {
        takeOrThrow(runtime::openDevice(options.device))->target()};
  }

  void check() {
    if (options_.gradients)
      compareGradients();
    compareRun();
  }

  const Comparison &comparison() const { return comparison_; }

private:
  Trainer compiled() {
    auto began = Clock::now();
    compiler::Result result = takeOrThrow(compiler_.compile(request_));
    outcome_.compileSeconds = secondsSince(began);
    outcome_.warnings = result.warnings;
    Trainer trainer(std::move(result.artifact), recorded_,
                    {.threads = options_.threads, .device = options_.device});
    if (trainer.convolvesByWinograd())
      outcome_.rounding = runtime::kWinogradErrors;
    comparison_.roundsMore(outcome_.rounding);
    return trainer;
  }

  void compareRun() {
    Trainer trainer = compiled();
    outcome_.arenaBytes = trainer.arenaBytes();
    train(trainer);
  }

  /// The present values of the running statistics that the case records.
  std::map<std::string, std::vector<double>>
  statistics(const Trainer &trainer) const {
    std::map<std::string, std::vector<double>> found;
    for (const std::string &name : comparison_.buffers())
      if (trainer.hasState(name))
        found[name] = trainer.state(name);
    return found;
  }

  void train(Trainer &trainer) {
    auto initial = statistics(trainer);
    std::vector<double> times;
    auto look = [&](double seconds) {
      comparison_.loss(times.size(), trainer.output(well_known::kLoss).at(0));
      times.push_back(seconds * 1e3);
    };
    std::vector<int> order = comparison_.batches();
    auto end = order.begin() + comparison_.stepCount();
    trainer.train({order.begin(), end}, look);
    compareFinal(trainer, initial);
    trainer.train({end, order.end()}, look);
    std::sort(times.begin(), times.end());
    outcome_.millisecondsPerStep = times[times.size() / 2];
  }

  void compareFinal(
      const Trainer &trainer,
      const std::map<std::string, std::vector<double>> &initialStatistics) {
    for (const std::string &name : comparison_.parameters())
      comparison_.finalParameter(name, trainer.state(initializerOf(name)));
    for (const auto &[name, initial] : initialStatistics)
      comparison_.finalBuffer(name, initial, trainer.state(name));
  }

  void compareGradients() {
    request_.wanted.gradientOutputs = true;
    Trainer trainer = compiled();
    trainer.step(comparison_.batches().front());
    for (const std::string &name : comparison_.parameters())
      comparison_.gradient(name,
                           trainer.output("gradient." + initializerOf(name)));
    request_.wanted.gradientOutputs = false;
  }

  std::string initializerOf(const std::string &parameter) const {
    return recorded_.aliasOf(file_, parameter)->initializer;
  }

  compiler::Compiler &compiler_;
  const RecordedCase &recorded_;
  const std::string &file_;
  const Options &options_;
  Outcome &outcome_;
  Comparison comparison_;
  compiler::Request request_;
};

/// Explains how to create missing weights: full-size cases come with the rule
/// that creates them.
std::string wordsOfMissing(const RecordedCase &recorded,
                           const std::string &file) {
  std::string words =
      absl::StrCat(recorded.pathOf(file), ": there is no such file");
  if (std::filesystem::exists(recorded.folder() / "init.json"))
    absl::StrAppend(
        &words, "; its rule is in init.json: ", "`tests/data/make_weights.py ",
        recorded.folder().string(), " COPY` makes a whole copy of the case");
  return words;
}

/// Describes the worst few deviations and says how many there are.
std::vector<std::string> wordsOf(const std::vector<Deviation> &failures) {
  constexpr size_t kFew = 3;
  std::vector<std::string> lines;
  for (size_t i = 0; i < failures.size() && i < kFew; ++i)
    lines.push_back(failures[i].text());
  if (failures.size() > kFew)
    lines.push_back(
        absl::StrCat("and ", failures.size() - kFew, " smaller deviations"));
  return lines;
}

} // namespace

void addFlags(const Options &options, compiler::Request &request) {
  if (!options.convolutions.empty())
    request.recipe.flags.emplace_back("convolutions=" + options.convolutions,
                                      "--convolutions " + options.convolutions);
}

Outcome checkRun(compiler::Compiler &compiler, const RecordedCase &recorded,
                 const std::string &file, const std::string &run,
                 const Options &options) {
  Outcome outcome;
  outcome.file = recorded.name() + "/" + file;
  outcome.run = run;
  try {
    if (std::string missing = recorded.missing(file); !missing.empty())
      throw Refusal(wordsOfMissing(recorded, missing));
    Run one(compiler, recorded, file, recorded.run(run), options, outcome);
    one.check();
    outcome.largest = one.comparison().largest();
    outcome.comparisons = one.comparison().count();
    outcome.failures = wordsOf(one.comparison().failures());
  } catch (const Refusal &refusal) {
    outcome.failures = absl::StrSplit(refusal.what(), '\n');
  } catch (const Json::exception &error) {
    outcome.failures = {"case.json: " + gradus::wordsOf(error)};
  } catch (const std::exception &) {
    outcome.failures = {wordsOfCaught()};
  }
  return outcome;
}

} // namespace gradus::check
