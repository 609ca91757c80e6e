// gradus inspect: what an artifact or a model contains, without running it.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "messages/shell_word.h"
#include "runtime/session/session.h"
#include "tool/basis_files.h"
#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/inspect/artifact_facts.h"
#include "tool/inspect/buckets.h"
#include "tool/inspect/call_forms.h"
#include "tool/inspect/inspect_tensors.h"
#include "tool/inspect/transfer_costs.h"
#include "tool/network.h"
#include "tool/number_options.h"
#include "tool/text.h"
#include "tool/weight_options.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct InspectOptions {
  compiler::Request request; // its model may be an artifact
  std::vector<std::string> weightsMap;
  std::string device; // whose forms of calls are told; empty: nobody's
  SummingRanks ranks; // whose transfers are told; none: nobody's
  bool json = false, states = false, map = false, operators = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus inspect lenet.gradus                graphs, commands, sizes
  gradus inspect lenet.gradus --states --map every state, every buffer of the arena
  gradus inspect gpt2.gradus --device cuda   what that card's libraries lack
  gradus inspect gpt2.gradus --ranks 8 --network 25GB/s,5us
                                             what sums over ranks take there
  gradus inspect lenet.onnx                  inputs, parameters, what is unsupported
  gradus inspect lenet.onnx --dim batch=32   ops and FLOPs, too
  gradus inspect lenet.safetensors           names and types of its tensors
  gradus inspect --operators                 ONNX ops that are supported)";

// -- An artifact ------------------------------------------------------------

std::string portsText(const ordered_json &ports) {
  return absl::StrJoin(ports, ", ",
                       [](std::string *out, const ordered_json &port) {
                         *out += port["name"].get<std::string>() + " " +
                                 port["type"].get<std::string>();
                       });
}

void printStates(const ordered_json &states) {
  Table table({"state", "type", "bytes", "role"});
  for (const ordered_json &state : states) {
    std::string type = state["type"];
    if (state.contains("whole"))
      type += " of " + state["whole"].get<std::string>();
    table.row({state["name"], type, jsonText(state["bytes"]), state["role"]});
  }
  std::printf("\n%s", table.text().c_str());
}

void printMap(const ordered_json &map) {
  Table table({"offset", "size", "region", "type", "commands", "use"});
  for (const ordered_json &entry : map)
    table.row({jsonText(entry["offset"]), jsonText(entry["size"]),
               entry["region"], entry["type"],
               jsonText(entry["first"]) + "-" + jsonText(entry["last"]),
               entry["use"]});
  std::printf("\n%s", table.text("    ").c_str());
}

/// "matmul", or "matmul (tuned)" where an algorithm was measured for a card.
std::string kindText(const ordered_json &command) {
  return command["kind"].get<std::string>() +
         (command.contains("choices") ? " (tuned)" : "");
}

void printGraph(const ordered_json &graph, bool map) {
  std::printf("\n  graph %s(%s) -> (%s)\n",
              printable(graph["name"].get<std::string>()).c_str(),
              printable(portsText(graph["inputs"])).c_str(),
              printable(portsText(graph["outputs"])).c_str());
  Table table({"#", "command", "kind", "flops", "bytes", "model nodes"});
  int i = 0;
  for (const ordered_json &command : graph["commands"])
    table.row(
        {std::to_string(i++), command["name"], kindText(command),
         countText(command["flops"].get<double>()),
         countText(command["bytes"].get<double>()),
         absl::StrJoin(command["nodes"].get<std::vector<std::string>>(), " ")});
  std::fputs(table.text("    ").c_str(), stdout);
  if (graph.contains("buckets"))
    std::printf("\n%s", bucketsText(graph["buckets"]).c_str());
  if (graph.contains("sums"))
    std::printf("    %s\n", textOfTransfers(graph["sums"]).c_str());
  if (map)
    printMap(graph["map"]);
}

std::string useText(const ordered_json &kernel) {
  std::string text = jsonText(kernel["registers"]) + " registers";
  for (auto [key, what] :
       {std::pair("stack_bytes", " B stack"), {"spilled_bytes", " B spilled"}})
    if (kernel[key].get<int64_t>())
      text += ", " + jsonText(kernel[key]) + what;
  return text;
}

/// The most that any kernel of an image has.
int64_t most(const ordered_json &image, const char *key) {
  int64_t most = 0;
  for (const ordered_json &kernel : image["kernels"])
    most = std::max(most, kernel[key].get<int64_t>());
  return most;
}

std::string summaryOf(const ordered_json &image) {
  if (image["kind"] == "emulated")
    return "";
  int64_t spilled = most(image, "spilled_bytes");
  return "up to " + std::to_string(most(image, "registers")) +
         " registers a thread, " +
         bytesText(double(most(image, "shared_bytes"))) +
         " shared by a block; " +
         (spilled ? "spills of up to " + bytesText(double(spilled))
                  : "no spills");
}

void printImageList(const ordered_json &images) {
  Table table({"image", "for", "bytes", "kernels", ""});
  for (const ordered_json &image : images)
    table.row({image["kind"], image["architecture"],
               bytesText(image["bytes"].get<double>()),
               std::to_string(image["kernels"].size()), summaryOf(image)});
  std::printf("\n%s", table.text().c_str());
}

/// What cubins need of a GPU, a line for each kernel.
void printImages(const ordered_json &images) {
  std::vector<std::string> columns = {"kernel", "threads", "shared"};
  std::vector<const ordered_json *> cubins;
  for (const ordered_json &image : images)
    if (image["kind"] == "cubin") {
      columns.push_back(image["architecture"]);
      cubins.push_back(&image);
    }
  if (!images.empty())
    printImageList(images);
  if (cubins.empty())
    return;
  Table table(columns);
  const ordered_json &first = (*cubins[0])["kernels"];
  for (size_t k = 0; k < first.size(); ++k) {
    std::vector<std::string> row = {
        first[k]["name"], jsonText(first[k]["threads"]),
        bytesText(first[k]["shared_bytes"].get<double>())};
    for (const ordered_json *cubin : cubins)
      row.push_back(useText((*cubin)["kernels"][k]));
    table.row(row);
  }
  std::printf("\n%s", table.text("    ").c_str());
}

/// "expected ms" of this machine, "H200 ms"
std::string columnOf(const ordered_json &device) {
  std::string title = device["title"];
  return (title.empty() ? "expected" : title) + " ms";
}

/// A line for each graph, among them the variants of a step.
void printCosts(const ordered_json &plan) {
  std::vector<std::string> columns = {"graph", "commands", "flops", "bytes",
                                      "peak"};
  for (const ordered_json &device : plan["rates"])
    columns.push_back(columnOf(device));
  Table table(columns);
  for (const ordered_json &graph : plan["graphs"]) {
    std::vector<std::string> row = {
        graph["name"], std::to_string(graph["commands"].size()),
        countText(graph["flops"].get<double>()),
        countText(graph["bytes"].get<double>()),
        bytesText(graph["peak_bytes"].get<double>())};
    for (const ordered_json &ms : graph["expected_ms"])
      row.push_back(millisecondsText(ms.get<double>()));
    table.row(row);
  }
  std::printf("\n%s", table.text().c_str());
  if (std::string how = plan["how"]; !how.empty())
    std::printf("%s\n", how.c_str());
}

/// "cpu:amx, 2 threads", "cuda"
std::string titleOf(const ordered_json &plan) {
  std::string target = plan["target"];
  return plan["images"].empty()
             ? target + ", " + jsonText(plan["threads"]) +
                   (plan["threads"] == 1 ? " thread" : " threads")
             : target;
}

void printPlan(const ordered_json &plan, bool map) {
  auto bytes = [&](const char *key) {
    return bytesText(plan[key].get<double>());
  };
  double bound = std::max(1.0, plan["bound_bytes"].get<double>());
  std::printf("\nplan %s\n  state %s, arena %s (bound %s, %.3fx), "
              "constants %s, "
              "code %s: predicted %s\n",
              printable(titleOf(plan)).c_str(), bytes("state_bytes").c_str(),
              bytes("arena_bytes").c_str(), bytes("bound_bytes").c_str(),
              plan["arena_bytes"].get<double>() / bound,
              bytes("constant_bytes").c_str(), bytes("code_bytes").c_str(),
              bytes("predicted_bytes").c_str());
  if (!plan["libraries"].empty())
    std::printf("  libraries %s\n",
                printable(librariesText(plan["libraries"])).c_str());
  printCosts(plan);
  printImages(plan["images"]);
  for (const ordered_json &graph : plan["graphs"])
    printGraph(graph, map);
}

/// Says whether `gradus compile` can compile the artifact again.
void printProgram(const ordered_json &program) {
  if (program.is_null())
    std::puts("no program: other targets need the model (--no-program)");
  else
    std::printf("program %s, of %s\n",
                bytesText(program["bytes"].get<double>()).c_str(),
                printable(program["compiler"].get<std::string>()).c_str());
}

/// What was run besides Gradus's own passes.
void printAddedPasses(const ordered_json &recipe) {
  if (!recipe.is_object() || !recipe.contains("passes"))
    return;
  if (auto plugins = recipe.find("plugins"); plugins != recipe.end())
    for (const auto &[key, settings] : plugins->items())
      if (settings.is_object())
        std::printf("plug-in key %s %s\n", printable(key).c_str(),
                    printable(jsonText(settings)).c_str());
  for (const ordered_json &pass : recipe["passes"])
    std::printf("added pass %s\n", printable(pass.get<std::string>()).c_str());
}

/// A file of another kind is told what there is.
std::shared_ptr<const Artifact> openArtifact(const std::string &path) {
  try {
    refuseForeign(path, Wanted::artifact);
    return take(Artifact::open(path));
  } catch (const Failure &failure) {
    if (absl::EndsWith(path, ".gradus"))
      throw;
    throw Failure(failure.code, absl::StrCat(failure.what(),
                                             "; inspect takes .gradus, .onnx, "
                                             ".mlir and .safetensors files"));
  }
}

void inspectArtifact(const InspectOptions &options) {
  auto artifact = openArtifact(options.request.model);
  check(at(artifact->verifyWeights(), artifact->path()));
  ordered_json all = artifactJson(*artifact);
  if (!options.device.empty())
    all["call_forms"] = callFormsOf(*artifact, options.device);
  if (options.ranks.count > 0)
    addTransferCosts(all, *artifact, options.ranks);
  if (options.json) {
    printJson(all);
    return;
  }
  std::printf("%s: %s, %s, %s (weights %s)\n",
              printable(artifact->path()).c_str(),
              printable(all["name"].get<std::string>()).c_str(),
              printable(all["producer"].get<std::string>()).c_str(),
              bytesText(artifact->size()).c_str(),
              bytesText(all["weights_bytes"].get<double>()).c_str());
  printProgram(all["program"]);
  if (int64_t ranks = all["logical_ranks"]; ranks > 0)
    std::printf("logical ranks %lld; a step of a process with 2^k of them runs "
                "train_partial_* for all but the last, then train_final_k, or "
                "train where k is 0\n",
                static_cast<long long>(ranks));
  if (int64_t ranks = all["ranks"]; ranks > 0) {
    auto parts = std::ranges::count_if(all["states"], [](const auto &state) {
      return state.contains("whole");
    });
    std::printf("trains on %lld ranks%s\n", static_cast<long long>(ranks),
                parts ? absl::StrCat("; each has a part of ", parts,
                                     " states, "
                                     "and the bytes are those of one rank")
                            .c_str()
                      : "");
  }
  if (all.contains("network"))
    std::printf("network of %s\n", textOfNetwork(all["network"]).c_str());
  printAddedPasses(all["recipe"]);
  if (options.states)
    printStates(all["states"]);
  else
    std::printf("%zu states\n", all["states"].size());
  for (const ordered_json &plan : all["plans"])
    printPlan(plan, options.map);
  if (all.contains("call_forms"))
    std::printf("\n%s", callFormsText(all["call_forms"]).c_str());
}

// -- A model ----------------------------------------------------------------

ordered_json groupsJson(const compiler::ModelInfo &model) {
  ordered_json all = ordered_json::array();
  for (const compiler::GroupInfo &group : model.groups)
    all.push_back({{"name", group.name},
                   {"elements", group.elements},
                   {"parameters", group.parameters}});
  return all;
}

ordered_json modelJson(const std::string &path,
                       const compiler::ModelInfo &model) {
  ordered_json ops = ordered_json::array();
  for (const compiler::OpCount &op : model.ops)
    ops.push_back(
        {{"name", op.name}, {"count", op.count}, {"flops", op.flops}});
  return {{"model", path},
          {"inputs", model.inputs},
          {"outputs", model.outputs},
          {"parameters",
           std::max<int64_t>(model.parameterCount, model.parameters.size())},
          {"parameter_elements", model.parameterElements},
          {"flops", model.flops},
          {"ops", ops},
          {"groups", groupsJson(model)},
          {"trained", model.parameters},
          {"fixed", model.fixed},
          {"missing", model.missing},
          {"warnings", model.warnings},
          {"unknown_sizes", model.unknownSizes},
          {"unsupported", model.unsupported}};
}

void printList(const char *title, const std::vector<std::string> &lines) {
  if (lines.empty())
    return;
  std::printf("\n%s\n", title);
  for (const std::string &line : lines)
    std::printf("  %s\n", printable(line).c_str());
}

/// Their parameters by name where all is asked for.
void printGroups(const compiler::ModelInfo &model, bool all) {
  if (model.groups.empty())
    return;
  Table table({"group", "parameters", "elements"});
  for (const compiler::GroupInfo &group : model.groups) {
    table.row({group.name, std::to_string(group.parameters.size()),
               countText(group.elements)});
    if (all)
      for (const std::string &parameter : group.parameters)
        table.row({"  " + parameter, "", ""});
  }
  std::printf("\n%s", table.text().c_str());
}

/// What a user has to know of a model before compiling it.
void printTraining(const compiler::Request &request,
                   const compiler::ModelInfo &model, bool all) {
  if (all)
    printList("trained:", model.parameters);
  printList("fixed:", model.fixed);
  if (!request.weights.rule.empty())
    printList(("missing data files, whose tensors start by --initialize " +
               request.weights.rule + ":")
                  .c_str(),
              model.missing);
  else if (request.weights.values.empty()) // Else they have been there.
    printList("missing data files (or start anew with --initialize pytorch):",
              model.missing);
  printList("warnings:", model.warnings);
}

void printPorts(const std::string &path, const compiler::ModelInfo &model) {
  std::printf("%s: %s -> %s\n", printable(path).c_str(),
              printable(absl::StrJoin(model.inputs, ", ")).c_str(),
              printable(absl::StrJoin(model.outputs, ", ")).c_str());
}

/// All but ops and FLOPs, which hang on sizes.
void printWithoutSizes(const InspectOptions &options,
                       const compiler::ModelInfo &model) {
  printPorts(options.request.model, model);
  std::printf("%lld parameters of %s elements\n",
              static_cast<long long>(model.parameterCount),
              countText(model.parameterElements).c_str());
  std::string dims;
  for (const std::string &size : model.unknownSizes)
    dims += " --dim " + shellWord(size + "=...");
  std::printf("To compile it, say its sizes:%s\n", printable(dims).c_str());
  if (!model.unsupported.empty())
    std::printf("\n%s\n", printableLines(model.unsupported).c_str());
  printTraining(options.request, model, options.states);
}

void printModel(const InspectOptions &options,
                const compiler::ModelInfo &model) {
  if (options.json)
    return printJson(modelJson(options.request.model, model));
  if (!model.unknownSizes.empty())
    return printWithoutSizes(options, model);
  if (!model.unsupported.empty()) {
    std::printf("%s\n%zu parameters\n",
                printableLines(model.unsupported).c_str(),
                model.parameters.size());
    return printTraining(options.request, model, options.states);
  }
  printPorts(options.request.model, model);
  std::printf("%lld parameters of %s elements, forward %sFLOP\n",
              static_cast<long long>(model.parameterCount),
              countText(model.parameterElements).c_str(),
              countText(model.flops).c_str());
  Table table({"op", "count", "flops"});
  for (const compiler::OpCount &op : model.ops)
    table.row({op.name, std::to_string(op.count), countText(op.flops)});
  std::fputs(table.text().c_str(), stdout);
  printGroups(model, options.states);
  printTraining(options.request, model, options.states);
}

/// A script that asks whether a model can be compiled looks at the exit code.
void inspectModel(InspectOptions &options) {
  std::optional<Safetensors> weights =
      openWeights(options.request, options.weightsMap);
  compiler::ModelInfo model = take(compilerLibrary().inspect(options.request));
  printModel(options, model);
  if (!model.unsupported.empty())
    throw Failure(kBadInput, ""); // It is said already.
}

// -- The ops of ONNX ----------------------------------------------------------

void listOperators(bool json) {
  Table table({"op", "opsets", "gradient", "devices", "refused", "ignored"});
  for (const compiler::OnnxOp &op : compilerLibrary().onnxOps()) {
    std::string devices = absl::StrJoin(op.devices, " ");
    if (json)
      printJson(ordered_json({{"op", op.name},
                              {"since", op.since},
                              {"newest", op.newest},
                              {"gradient", op.gradient},
                              {"devices", op.devices},
                              {"refused", op.refused},
                              {"ignored", op.ignored}}));
    table.row({op.name,
               std::to_string(op.since) + "-" + std::to_string(op.newest),
               op.gradient, devices, op.refused, op.ignored});
  }
  if (!json)
    std::fputs(table.text().c_str(), stdout);
}

bool isModel(const std::string &path) {
  return absl::EndsWith(path, ".onnx") || absl::EndsWith(path, ".mlir");
}

bool hasNetwork(const SummingRanks &ranks) {
  return ranks.network.bytesPerSecond > 0;
}

void addTransferOptions(CLI::App &command, SummingRanks &ranks) {
  addNetworkOption(command, ranks.network,
                   "For an artifact, with --ranks: how long its sums over "
                   "ranks take on this network, as 25GB/s,5us");
  command
      .add_option("--ranks", ranks.count,
                  "With --network: the number of processes that sum")
      ->check(wholeNumber(2, kMostRanks))
      ->type_name("N");
}

void checkTransferOptions(const InspectOptions &options, bool isArtifact) {
  const SummingRanks &ranks = options.ranks;
  if (hasNetwork(ranks) && ranks.count == 0)
    throw badInput("--network: needs --ranks N, the number of processes that "
                   "sum over it, such as --ranks 4");
  if (!hasNetwork(ranks) && ranks.count > 0)
    throw badInput("--ranks ", ranks.count,
                   ": needs --network RATE,TIME, over which they sum, such as "
                   "--network 25GB/s,5us");
  if (ranks.count > 0 && !isArtifact)
    throw badInput("--network: is for an artifact; ", options.request.model,
                   " has no sums over ranks yet");
}

} // namespace

void addInspect(CLI::App &app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command =
      app.add_subcommand("inspect", "What an artifact, a model or a file of "
                                    "tensors contains");
  command->footer(kFooter);
  CLI::Option *file = command->add_option("file", options->request.model,
                                          "A .gradus, .onnx, .mlir or "
                                          ".safetensors file");
  command->add_option("--recipe", options->request.recipe.file,
                      "For a model: dimensions, parameters");
  command
      ->add_option("--plugin", options->request.plugins,
                   "For a model: a library with keys that its recipe has")
      ->allow_extra_args(false);
  command->add_option("--dim", options->request.dims, "For a model: batch=32")
      ->allow_extra_args(false);
  addWeightOptions(*command, options->request, options->weightsMap);
  openBases(options->request);
  command
      ->add_flag("--operators", options->operators,
                 "List the ops of ONNX that are supported; no file")
      ->excludes(file);
  command->add_option("--device", options->device,
                      "For an artifact: how this device would compute its "
                      "calls of libraries; cuda, cuda:1, emulated");
  addTransferOptions(*command, options->ranks);
  command->add_flag("--states", options->states,
                    "List every state, or parameter of a model");
  command->add_flag("--map", options->map,
                    "List every buffer: where it lies and who uses it");
  command->add_flag("--json", options->json, "All of it as one JSON object");
  command->callback([options] {
    if (options->operators)
      return listOperators(options->json);
    if (options->request.model.empty())
      throw badInput("file is required");
    if (!isModel(options->request.model) && !options->weightsMap.empty())
      throw badInput("--weights-map ", options->weightsMap.front(),
                     ": is for a model; ", options->request.model,
                     " has its weights already");
    bool isArtifact = !isModel(options->request.model) &&
                      !isTensorFile(options->request.model);
    if (!options->device.empty() && !isArtifact)
      throw badInput("--device ", options->device, ": is for an artifact; ",
                     options->request.model, " calls no library yet");
    checkTransferOptions(*options, isArtifact);
    if (isTensorFile(options->request.model))
      return inspectTensors(options->request.model, options->json);
    isArtifact ? inspectArtifact(*options) : inspectModel(*options);
  });
}

} // namespace gradus::cli
