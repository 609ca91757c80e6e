// gradus compile: a model and a recipe become one artifact.

#include "frontends/compiler/tuning_file.h"
#include "messages/error_kind.h"
#include "messages/json_text.h"
#include "runtime/artifact/artifact.h"
#include "runtime/safetensors.h"
#include "runtime/session/session.h"
#include "tool/basis_files.h"
#include "tool/carried_program.h"
#include "tool/commands.h"
#include "tool/compile/artifact_file.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/inspect/artifact_facts.h"
#include "tool/key_flags.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
#include "tool/report/compile_report.h"
#include "tool/report/page.h"
#include "tool/session/session_options.h"
#include "tool/text.h"
#include "tool/tune/tuned_calls.h"
#include "tool/weight_options.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

using namespace gradus::runtime;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace gradus::cli {
namespace {

struct CompileOptions {
  compiler::Request request;
  std::vector<std::string> addedPasses; // STAGE:PASS
  std::vector<std::string> weightsMap;  // FROM=TO
  std::vector<std::string> tuning;      // files
  std::string output;
  std::string page; // of --report FILE
  bool json = false, strict = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus \
      --set optimizer.learning_rate=0.01 --dim batch=64
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus \
      --target cpu:x86-64-v2 --target cpu:x86-64-v4
  gradus compile resnet.onnx --recipe recipe.json -o resnet.gradus --less-bn \
      --gradient-centralization=placement=after_weight_decay
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus \
      --plugin libgradient_noise.so --gradient-noise=scale=0.1
  gradus compile lenet.gradus --target cuda -o lenet_cuda.gradus
  gradus compile lenet.onnx --recipe recipe.json --stop-after update
  gradus compile lenet.onnx --recipe recipe.json -o lenet.gradus --report lenet.html

An artifact carries the program that it was compiled from, so that this version of
Gradus can compile it again without the model: for the targets that are named then
(without --target: this machine), and with another --memory-limit, but with its
recipe and its weights. --no-program leaves the program out, to keep the graph of a
network to yourself; names and shapes of parameters, names of nodes and the recipe
are still in the artifact.

--stop-after prints the IR after a stage: model, recognition, gradients, local,
distribution, methods, update, optimize, and those of codegen. Of several targets it is that of
the first, and so is what --report says of stages without a page.)";

/// Compiles, and says what to do with a checkpoint: its optimizer states fit no
/// model.
compiler::Result compileWith(const compiler::Request &request,
                             const std::optional<Safetensors> &weights) {
  auto result = compilerLibrary().compile(request);
  if (!result.ok() && weights && weights->metadata().contains("format") &&
      weights->metadata().at("format") == "gradus" &&
      isOfKind(result.status(), ErrorKind::weights))
    throw badInput(std::string(result.status().message()), "\n  It is a ",
                   "checkpoint: compile without it, then give it to `gradus "
                   "train --init` (parameters) or --resume (everything)");
  return take(std::move(result));
}

/// Returns what a plan needs.
ordered_json planFigures(const Artifact &artifact, const artifact::Plan &plan) {
  uint64_t bound = 0;
  for (const artifact::GraphPlan *graph : *plan.graphs())
    bound = std::max(bound, graph->bound());
  uint64_t constants = artifact.bytes(artifact.header().constants()).size();
  uint64_t code = artifact.codeBytes(plan);
  return {{"target", plan.target() ? plan.target()->str() : ""},
          {"state_bytes", plan.state_bytes()},
          {"arena_bytes", plan.arena_bytes()},
          {"bound_bytes", bound},
          {"code_bytes", code},
          {"predicted_bytes",
           plan.state_bytes() + plan.arena_bytes() + constants + code},
          {"libraries", librariesOf(plan)}};
}

/// Returns what the artifact says of itself, and of its first plan.
ordered_json figures(const Artifact &artifact, const std::string &path,
                     double milliseconds) {
  const artifact::Header &header = artifact.header();
  ordered_json plans = ordered_json::array();
  std::vector<std::string> targets;
  for (const artifact::Plan *plan : *header.plans()) {
    plans.push_back(planFigures(artifact, *plan));
    targets.push_back(targetText(*plan));
  }
  ordered_json all = {
      {"artifact", path},
      {"artifact_bytes", artifact.size()},
      {"compile_ms", milliseconds},
      {"targets", targets},
      {"states", header.states() ? header.states()->size() : 0}};
  for (const auto &[key, value] : plans[0].items())
    if (key != "target" && key != "libraries")
      all[key] = value;
  all["plans"] = std::move(plans);
  return all;
}

/// Counts the calls that found what was measured; returns the number of
/// warnings.
size_t addTunedCalls(ordered_json &figures, const compiler::Request &request,
                     const Artifact &artifact) {
  TunedCount count = countTuned(artifact);
  figures["library_calls"] = count.calls;
  figures["tuned_calls"] = count.tuned;
  figures["tuned"] = count.text();
  std::vector<std::string> unused =
      warningsOfUnused(request.plan.tuning, artifact);
  for (const std::string &words : unused)
    warn("--tuning: " + words);
  return unused.size();
}

/// Names the GPUs whose measurements the compiled artifact has and the new one
/// lacks; returns the number of warnings.
size_t warnOfTuning(const Artifact &compiled, const Artifact &artifact) {
  std::vector<std::string> cards;
  if (countTuned(artifact).calls > 0)
    for (const auto &[card, count] : countTuned(compiled).ofCard)
      cards.push_back(card);
  if (cards.empty())
    return 0;
  warn(absl::StrCat(compiled.path(), " was compiled with measurements of ",
                    absl::StrJoin(cards, ", "),
                    ", which it does not carry: give those files to --tuning"));
  return 1;
}

/// Makes warnings that were told an error, with --strict.
void refuseWarnings(const CompileOptions &options, size_t count) {
  if (options.strict && count > 0)
    throw badInput("--strict: ", count, count == 1 ? " warning" : " warnings",
                   ", so nothing was written");
}

/// `of`: " cuda" where there are several plans.
void addPlanRows(Table &table, const ordered_json &plan,
                 const std::string &of) {
  auto bytes = [&](const char *key) {
    return bytesText(plan[key].get<double>());
  };
  double bound = std::max(1.0, plan["bound_bytes"].get<double>());
  table.row({"arena" + of,
             bytes("arena_bytes") + ", bound " + bytes("bound_bytes") + " (" +
                 number("%.3f", plan["arena_bytes"].get<double>() / bound) +
                 "x)"});
  table.row(
      {"memory" + of, "predicted " + bytes("predicted_bytes") +
                          (of.empty() ? "" : ", code " + bytes("code_bytes"))});
  if (!plan["libraries"].empty())
    table.row({"libraries" + of, librariesText(plan["libraries"])});
}

void printSummary(const ordered_json &figures) {
  auto bytes = [&](const char *key) {
    return bytesText(figures[key].get<double>());
  };
  Table table;
  table.row(
      {"compiled in", durationText(figures["compile_ms"].get<double>() / 1e3)});
  const ordered_json &plans = figures["plans"];
  table.row(
      {"artifact",
       figures["artifact"].get<std::string>() + " (" + bytes("artifact_bytes") +
           (plans.size() > 1 ? ")" : ", code " + bytes("code_bytes") + ")")});
  table.row({"targets",
             absl::StrJoin(figures["targets"].get<std::vector<std::string>>(),
                           ", ")});
  table.row({"state", jsonText(figures["states"]) + " tensors, " +
                          bytes("state_bytes")});
  if (figures.contains("tuned"))
    table.row({"tuned", figures["tuned"].get<std::string>()});
  for (const ordered_json &plan : plans)
    addPlanRows(table, plan,
                plans.size() > 1 ? " " + plan["target"].get<std::string>()
                                 : "");
  std::fputs(table.text().c_str(), stdout);
}

/// --report alone is the table on stderr, with a name the page.
void chooseReport(CompileOptions &options) {
  if (options.page.empty())
    return;
  checkReportName(options.page);
  if (options.output.empty())
    throw badInput("--report ", options.page,
                   ": a page is made of a whole compilation, with -o FILE");
  options.request.wanted.report = false;
  options.request.wanted.trace = true;
}

/// A model or a text whose name was meant for something else stays as it is.
void checkName(const std::string &output) {
  if (!output.empty() && !absl::EndsWith(output, ".gradus"))
    throw badInput("-o ", output, ": expected a name that ends in .gradus");
}

void writePage(const CompileOptions &options, const Artifact &artifact,
               const compiler::Trace &trace, double milliseconds) {
  ordered_json facts = artifactJson(artifact);
  facts["artifact"] = options.output; // It was opened under another name.
  writeWhole(options.page,
             reportText(options.page,
                        compileReport(std::move(facts), trace,
                                      options.request.model, milliseconds)));
}

void checkOutputs(const CompileOptions &options) {
  const compiler::Request &request = options.request;
  std::vector<UsedFile> inputs = {{"the model", request.model},
                                  {"--recipe", request.recipe.file},
                                  {"--weights", request.weights.file}};
  for (UsedFile &file : ruleFiles("--weights-map", options.weightsMap))
    inputs.push_back(std::move(file));
  for (const std::string &file : options.tuning)
    inputs.push_back({"--tuning", file});
  checkOutputFiles({{"-o", options.output}, {"--report", options.page}},
                   inputs);
  checkName(options.output);
  checkWritable({options.output, options.page});
}

void run(CompileOptions &options) {
  compiler::Request &request = options.request;
  for (const std::string &pass : options.addedPasses)
    request.recipe.flags.emplace_back("passes+=" + jsonText(ordered_json(pass)),
                                      "--add-pass " + pass);
  if (request.wanted.stopAfter.empty() == options.output.empty())
    throw badInput(options.output.empty()
                       ? "compile needs -o FILE, or --stop-after STAGE"
                       : "-o and --stop-after exclude each other");
  std::optional<OpenedProgram> carried = openProgram(request);
  if (!carried)
    refuseForeign(request.model, Wanted::model);
  chooseReport(options);
  checkOutputs(options);
  request.plan.tuning = take(compiler::readTuningFiles(options.tuning));
  auto began = Clock::now();
  std::optional<Safetensors> weights = openWeights(request, options.weightsMap);
  ArtifactFile file(options.output);
  request.wanted.write = [&](uint64_t offset, std::span<const char> bytes) {
    return file.write(offset, bytes);
  };
  compiler::Result result = compileWith(request, weights);
  for (const std::string &warning : result.warnings)
    warn(warning);
  size_t warnings = result.warnings.size();
  std::fputs(result.report.c_str(), stderr);
  if (!request.wanted.stopAfter.empty()) {
    refuseWarnings(options, warnings);
    std::fputs(result.ir.c_str(), stdout);
    return;
  }
  std::chrono::duration<double, std::milli> elapsed = Clock::now() - began;
  auto artifact = file.open();
  ordered_json summary = figures(*artifact, options.output, elapsed.count());
  if (!options.tuning.empty())
    warnings += addTunedCalls(summary, request, *artifact);
  else if (carried)
    warnings += warnOfTuning(carried->artifact(), *artifact);
  refuseWarnings(options, warnings);
  file.commit();
  if (!options.page.empty())
    writePage(options, *artifact, result.trace, elapsed.count());
  if (options.json)
    printJson(summary);
  else
    printSummary(summary);
}

void addModelOptions(CLI::App &command, CompileOptions &options) {
  compiler::Request &request = options.request;
  command
      .add_option("model", request.model,
                  "A model: .onnx or .mlir; or an artifact, to compile it for "
                  "other targets")
      ->required();
  command.add_option("--recipe", request.recipe.file,
                     "How to train it: a JSON file");
  command
      .add_option("--set", request.recipe.overrides,
                  "KEY=VALUE over the recipe's, such as "
                  "optimizer.learning_rate=0.1")
      ->allow_extra_args(false);
  command
      .add_option("--dim", request.dims,
                  "Size of a symbolic dimension: batch=32")
      ->allow_extra_args(false);
  addKeyFlags(command, request);
  command
      .add_option("--plugin", request.plugins,
                  "A shared library with passes (docs/add_a_pass.md)")
      ->allow_extra_args(false);
  command
      .add_option("--add-pass", options.addedPasses,
                  "STAGE:PASS or STAGE:'PASS{KEY=VALUE ...}': run it at the "
                  "end of the stage; the flag repeats")
      ->allow_extra_args(false);
  addWeightOptions(command, request, options.weightsMap);
  openBases(request);
}

/// Adds the options on GPU kernels and on what an artifact holds besides plans.
void addContentOptions(CLI::App &command, CompileOptions &options) {
  compiler::Request &request = options.request;
  command
      .add_option("--kernel-cache", request.plan.kernelCache,
                  "Where compiled GPU kernels are kept for the next time: a "
                  "folder, or off; else gradus/kernels in $XDG_CACHE_HOME "
                  "or ~/.cache")
      ->type_name("FOLDER|off");
  command
      .add_option("--tuning", options.tuning,
                  "Algorithms of libraries on a card, as `gradus tune` has "
                  "measured them; the flag repeats")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command.add_flag_callback(
      "--no-program", [&request] { request.wanted.withProgram = false; },
      "Leave out the model's graph, from which the artifact can be compiled "
      "for other targets");
  command.add_flag("--node-outputs", request.wanted.nodeOutputs,
                   "Keep the value of every node of the model as an output "
                   "of training, for train --watch; takes memory");
}

void addReportOption(CLI::App &command, CompileOptions &options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--report",
          [&options](const std::vector<std::string> &values) {
            options.request.wanted.report = true;
            options.page = values.empty() ? "" : values.front();
          },
          "FILE.html: a page of passes, memory and costs; FILE.json: its data; "
          "without a name what each stage did, on stderr")
      ->expected(0, 1)
      ->type_name("[FILE]");
}

} // namespace

void addCompile(CLI::App &app) {
  auto options = std::make_shared<CompileOptions>();
  compiler::Request &request = options->request;
  CLI::App *command = app.add_subcommand(
      "compile", "Makes an artifact of a model and a recipe");
  command->footer(kFooter);
  addModelOptions(*command, *options);
  command->add_option("-o,--output", options->output, "The artifact (.gradus)");
  command
      ->add_option(
          "--target", request.plan.targets,
          "cpu (this machine) or cpu:LEVEL, LEVEL x86-64-v2, -v3, -v4 or amx; "
          "cuda (all GPUs), cuda:sm_80, -90 or -100, emulated (for --device "
          "emulated); the flag repeats")
      ->allow_extra_args(false);
  command
      ->add_option("--libraries", request.plan.libraries,
                   "Which products, convolutions and attention are a library's "
                   "(oneDNN; on cards cuBLASLt and cuDNN): auto (those it is "
                   "faster with), never, always")
      ->check(CLI::IsMember({"auto", "never", "always"}));
  command
      ->add_option("--epilogues", request.plan.epilogues,
                   "What GPUs' library computes along with a product: all (a "
                   "bias, an activation, sums for gradients), bias, none; what "
                   "a card's library lacks is found when it is loaded")
      ->check(CLI::IsMember({"all", "bias", "none"}));
  command->add_option("--stop-after", request.wanted.stopAfter,
                      "Print the IR after this stage");
  command->add_flag(
      "--print-weights", request.wanted.printWeights,
      "With --stop-after: large weights too, so that the text can be compiled");
  command
      ->add_option("--threads", request.plan.threads,
                   "Threads to plan for; 0: one per core")
      ->check(wholeNumber(0, kMostThreads));
  command->add_option("--memory-limit", request.recipe.memoryLimit,
                      "The most that state, arena, constants and code may "
                      "take, such as 2GiB");
  addContentOptions(*command, *options);
  addReportOption(*command, *options);
  command->add_flag("--strict", options->strict,
                    "Warnings are errors: all are told, nothing is written, "
                    "and the exit code is 2");
  command->add_flag("--json", options->json, "The summary as a JSON object");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
