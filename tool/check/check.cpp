// gradus check: trains recorded cases and compares the results.

#include "messages/caught.h"
#include "messages/json_text.h"
#include "messages/printable.h"
#include "messages/shell_word.h"
#include "runtime/session/devices.h"
#include "tool/check/check_run.h"
#include "tool/check/record.h"
#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/number_options.h"
#include "tool/session/session_options.h"
#include "tool/text.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>

using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> cases; // or, with `written`, a model
  std::string written;
  check::RecordRequest record;
  std::string file, run;
  check::Options check;
  bool json = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus check tests/data/models/lenet5      every file and run of one case
  gradus check cases/ --file model_dynamo.onnx
  gradus check cases/lenet --device emulated
  gradus check cases/bert --json             one object per line
  gradus check lenet.onnx --recipe recipe.json --data train.safetensors \
      --write cases/lenet                    records a case from Gradus

A case is a folder with case.json, data.safetensors, expected.safetensors and the
model's ONNX files; a folder of such folders stands for all of them.
docs/examples/record_case records one from any PyTorch model, --write one from
Gradus, to see whether it still trains the same tomorrow or on another machine.
Those of full size come without weights: tests/data/make_weights.py CASE OUT makes
a whole copy. Compared are the
gradients of the first step, the loss of every step, and parameters and running
statistics after the last, at the case's own tolerances. A deviation of 0.3 is
three tenths of what is tolerated. Where convolutions are computed by Winograd's
algorithm, the tolerances are multiplied by 4.5; --convolutions direct compares
without it.)";

std::string lineOf(const check::Outcome &outcome) {
  std::string line = outcome.file + "  " + outcome.run + "  " +
                     (outcome.passed() ? "passed" : "FAILED");
  if (outcome.comparisons)
    line +=
        "  deviation " + number("%.2g", outcome.largest.ratio()) +
        (outcome.largest.what.empty() ? "" : " (" + outcome.largest.what + ")");
  if (outcome.rounding != 1)
    line += number("  tolerances x %g (Winograd)", outcome.rounding);
  if (outcome.arenaBytes)
    line += "  compiled in " + durationText(outcome.compileSeconds) + "  " +
            number("%.3g", outcome.millisecondsPerStep) + " ms/step  arena " +
            bytesText(outcome.arenaBytes);
  line = printable(line);
  for (const std::string &failure : outcome.failures)
    line += "\n    " + printable(failure);
  return line;
}

ordered_json jsonOf(const check::Outcome &outcome) {
  return {{"file", outcome.file},
          {"run", outcome.run},
          {"passed", outcome.passed()},
          {"failures", outcome.failures},
          {"warnings", outcome.warnings},
          {"largest", outcome.largest.what},
          {"deviation", outcome.largest.ratio()},
          {"comparisons", outcome.comparisons},
          {"rounding", outcome.rounding},
          {"compile_s", outcome.compileSeconds},
          {"ms_per_step", outcome.millisecondsPerStep},
          {"arena_bytes", outcome.arenaBytes}};
}

/// Counts and prints outcomes.
struct Tally {
  bool json;
  int passed = 0, failed = 0;

  void add(const check::Outcome &outcome) {
    ++(outcome.passed() ? passed : failed);
    std::puts(json ? jsonText(jsonOf(outcome)).c_str()
                   : lineOf(outcome).c_str());
    std::fflush(stdout);
  }

  void finish() const {
    if (json)
      printJson(ordered_json({{"passed", passed}, {"failed", failed}}));
    else
      std::printf("%d passed, %d failed\n", passed, failed);
    if (failed)
      throw Failure(kFailedWhileRunning, "");
  }
};

bool wants(const std::string &asked, const std::string &name) {
  return asked.empty() || asked == name;
}

/// Checks that the argument of --run or --file is one of the known names.
void checkChoice(const std::filesystem::path &folder, const char *option,
                 const std::string &asked,
                 const std::vector<std::string> &names) {
  if (!asked.empty() &&
      std::find(names.begin(), names.end(), asked) == names.end())
    throw badInput(option, " ", asked, ": ", folder.string(), " has ",
                   absl::StrJoin(names, ", "));
}

void checkChoices(const std::filesystem::path &folder,
                  const CheckOptions &options,
                  const check::RecordedCase &recorded) {
  std::vector<std::string> runs;
  for (const check::Json &run : recorded.description().at("runs"))
    runs.push_back(run.at("id"));
  checkChoice(folder, "--run", options.run, runs);
  checkChoice(folder, "--file", options.file, recorded.files());
}

/// Checks every file with every run; the gradients with the first run of each
/// file.
void checkCase(const std::filesystem::path &folder, const CheckOptions &options,
               Tally &tally) {
  check::RecordedCase recorded = take(check::RecordedCase::open(folder));
  checkChoices(folder, options, recorded);
  for (const std::string &file : recorded.files()) {
    check::Options how = options.check;
    for (const check::Json &run : recorded.description().at("runs")) {
      std::string id = run.at("id");
      if (!wants(options.file, file) || !wants(options.run, id))
        continue;
      tally.add(check::checkRun(compilerLibrary(), recorded, file, id, how));
      how.gradients = false;
    }
  }
}

/// Runs `gradus check MODEL --write CASE`.
void record(const CheckOptions &options) {
  check::RecordRequest request = options.record;
  request.model.model = options.cases.front();
  request.model.plan.threads = options.check.threads;
  if (options.cases.size() != 1 || !request.model.model.ends_with(".onnx"))
    throw badInput("--write: expected one .onnx model, found ",
                   absl::StrJoin(options.cases, " "));
  if (request.data.empty())
    throw badInput("--write: needs --data to train on");
  try {
    check::recordCase(compilerLibrary(), request, options.written);
  } catch (const Failure &) {
    throw;
  } catch (const check::Refusal &refusal) {
    throw badInput(refusal.what());
  } catch (const std::exception &) {
    throw failed(options.written, ": ", wordsOfCaught());
  }
  if (options.json)
    printJson(ordered_json({{"case", options.written}}));
  else
    std::printf("%s; check it with `gradus check %s`\n",
                printable(options.written).c_str(),
                printable(shellWord(options.written)).c_str());
}

void run(const CheckOptions &options) {
  if (!options.written.empty())
    return record(options);
  // A mistake in the options is one error, not one of every case.
  take(runtime::openDevice(options.check.device));
  compiler::Request flags;
  check::addFlags(options.check, flags);
  take(compilerLibrary().readRecipe(flags));
  Tally tally{options.json};
  for (const std::string &root : options.cases) {
    std::vector<std::filesystem::path> cases = check::findCases(root);
    if (cases.empty())
      throw badInput(root,
                     ": holds no recorded case (a folder with case.json)");
    for (const std::filesystem::path &folder : cases)
      try {
        checkCase(folder, options, tally);
      } catch (const check::Json::exception &error) {
        throw badInput((folder / "case.json").string(), ": ", wordsOf(error));
      }
  }
  tally.finish();
}

} // namespace

/// Adds the options of --write, which need it.
static void addRecordOptions(CLI::App &command, CheckOptions &options) {
  CLI::Option *write = command.add_option(
      "--write", options.written, "Record a case of the .onnx model, here");
  for (const char *option : {"--device", "--convolutions"})
    write->excludes(command.get_option(option));
  check::RecordRequest &record = options.record;
  std::vector<CLI::Option *> others = {
      command.add_option("--recipe", record.model.recipe.file,
                         "With --write: how to train it (JSON)"),
      command.add_option("--set", record.model.recipe.overrides,
                         "With --write: KEY=VALUE over the recipe's"),
      command.add_option("--plugin", record.model.plugins,
                         "With --write: a library with keys of the recipe"),
      command.add_option("--dim", record.model.dims,
                         "With --write: size of a dimension: batch=32"),
      command.add_option("--initialize", record.model.weights.rule,
                         "With --write: rule for missing weights"),
      command.add_option("--data", record.data,
                         "With --write: FILE or NAME=FILE, repeats"),
      command.add_option("--steps", record.steps, "With --write: steps (10)")
          ->check(positive()),
      command
          .add_option("--batches", record.batches,
                      "With --write: whole batches to take (2)")
          ->check(positive())};
  for (CLI::Option *option : others) {
    option->needs(write);
    if (option->get_items_expected_max() > 1)
      option->allow_extra_args(false);
  }
}

void addCheck(CLI::App &app) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *command = app.add_subcommand(
      "check", "Trains recorded cases and compares with the recording");
  command->footer(kFooter);
  command
      ->add_option("case", options->cases,
                   "Folders of recorded cases; with --write a model")
      ->required();
  command->add_option("--file", options->file, "Only this model file");
  command->add_option("--run", options->run, "Only this run");
  command->add_option("--threads", options->check.threads,
                      "Threads (one per core)");
  command->add_option("--device", options->check.device,
                      "Where to train: cpu, cuda, cuda:1, emulated");
  command->add_option("--convolutions", options->check.convolutions,
                      "auto (default) or direct: as the recipe's key");
  command->add_flag("--json", options->json, "One JSON object per line");
  addRecordOptions(*command, *options);
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
