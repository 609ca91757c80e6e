// Gathers what `inspect` and a report tell.

#include "tool/inspect/artifact_facts.h"

#include "messages/json_text.h"
#include "runtime/artifact/command.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/flat.h"
#include "runtime/library_text.h"
#include "tool/inspect/arena_timeline.h"
#include "tool/inspect/buckets.h"
#include "tool/inspect/expected_time.h"
#include "tool/inspect/memory_map.h"

#include <algorithm>
#include <map>
#include <optional>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

template <typename List> ordered_json ports(const List *list) {
  ordered_json all = ordered_json::array();
  for (unsigned i = 0; list && i < list->size(); ++i) {
    TensorType tensor = typeOf(list->Get(i)->type());
    all.push_back({{"name", textOf(list->Get(i)->name())},
                   {"type", toString(tensor)},
                   {"bytes", bytesOf(tensor).value_or(0)}});
  }
  return all;
}

bool isForGpus(const artifact::Plan &plan) {
  return plan.images() && plan.images()->size();
}

ordered_json states(const artifact::Header &header) {
  ordered_json all = ports(header.states());
  for (unsigned i = 0; i < all.size(); ++i) {
    const artifact::State &state = *header.states()->Get(i);
    all[i]["role"] = artifact::EnumNameRole(state.role());
    if (state.whole()) // of which each rank has a part
      all[i]["whole"] = toString(typeOf(state.whole()));
  }
  return all;
}

using Rates = std::vector<DeviceRates>;

/// Estimates the time of a command on each device.
std::vector<double> expectedMicroseconds(const artifact::Command &command,
                                         const Rates &rates) {
  std::vector<double> all;
  for (const DeviceRates &each : rates)
    all.push_back(expectedSeconds(command, each) * 1e6);
  return all;
}

/// Algorithms that were measured for cards.
ordered_json choices(const artifact::Command &command) {
  ordered_json all = ordered_json::array();
  const auto *library = command.kind_as_LibraryCommand();
  for (unsigned i = 0; library && i < countOf(library->choices()); ++i) {
    const artifact::LibraryChoice &choice = *library->choices()->Get(i);
    all.push_back({{"card", textOf(choice.card())},
                   {"library", textOf(choice.library())},
                   {"algorithm", textOf(choice.algorithm())}});
  }
  return all;
}

/// Counts what a kernel's threads execute on a GPU; other commands have none.
std::optional<uint64_t> operationsOf(const artifact::Command &command,
                                     const artifact::CodeHeader *header) {
  const auto *kernel = command.kind_as_KernelCommand();
  const artifact::GpuLaunch *launch =
      kernel && header ? header->kernels()->Get(kernel->kernel())->gpu()
                       : nullptr;
  if (!launch)
    return std::nullopt;
  uint64_t items = launch->piece() ? 0 : 1;
  for (unsigned i = 0; launch->piece() && i < countOf(kernel->segments()); ++i)
    items += uint64_t(kernel->segments()->Get(i)->items());
  return items * launch->operations();
}

/// Adds the text of a library's call and the bytes of its scratch.
void addCall(const artifact::LibraryCommand &library,
             const artifact::Plan &plan, ordered_json &to) {
  to["call"] = libraryText(library);
  bool hasScratch = library.scratch() != UINT32_MAX;
  to["scratch_bytes"] =
      hasScratch ? plan.buffers()->Get(library.scratch())->size() : 0;
}

ordered_json commands(const Artifact &artifact, const artifact::Plan &target,
                      const artifact::GraphPlan &plan, const Rates &rates) {
  ordered_json all = ordered_json::array();
  const artifact::CodeHeader *header =
      isForGpus(target) ? artifact.kernels(target) : nullptr;
  for (unsigned i = 0; plan.commands() && i < plan.commands()->size(); ++i) {
    const artifact::Command &command = *plan.commands()->Get(i);
    std::vector<std::string> nodes;
    for (unsigned n = 0; command.nodes() && n < command.nodes()->size(); ++n)
      nodes.push_back(textOf(command.nodes()->Get(n)));
    all.push_back({{"name", textOf(command.name())},
                   {"kind", kindOf(command)},
                   {"flops", command.flops()},
                   {"bytes", command.bytes()},
                   {"expected_us", expectedMicroseconds(command, rates)},
                   {"nodes", nodes}});
    if (auto operations = operationsOf(command, header))
      all.back()["operations"] = *operations;
    if (const auto *library = command.kind_as_LibraryCommand())
      addCall(*library, target, all.back());
    if (ordered_json measured = choices(command); !measured.empty())
      all.back()["choices"] = std::move(measured);
  }
  return all;
}

ordered_json mapJson(const std::vector<MapEntry> &map) {
  ordered_json all = ordered_json::array();
  for (const MapEntry &entry : map)
    all.push_back({{"region", artifact::EnumNameRegion(entry.region)},
                   {"offset", entry.offset},
                   {"size", entry.size},
                   {"type", entry.type},
                   {"use", entry.use},
                   {"first", entry.first},
                   {"last", entry.last}});
  return all;
}

/// Adds up the times of commands on each device, in milliseconds.
std::vector<double> expectedSums(const ordered_json &commands, size_t devices) {
  std::vector<double> sums(devices);
  for (const ordered_json &command : commands)
    for (size_t i = 0; i < devices; ++i)
      sums[i] += command["expected_us"][i].get<double>() * 1e-3;
  return sums;
}

uint64_t count(const ordered_json &commands, const char *key) {
  uint64_t total = 0;
  for (const ordered_json &command : commands)
    total += command[key].get<uint64_t>();
  return total;
}

ordered_json graphJson(const Artifact &artifact, const artifact::Plan &plan,
                       const artifact::GraphPlan &graph, const Rates &rates) {
  const artifact::Header &header = artifact.header();
  const artifact::Graph &signature = *header.graphs()->Get(graph.graph());
  ordered_json all = commands(artifact, plan, graph, rates);
  std::vector<MapEntry> map = memoryMap(artifact, plan, graph);
  ArenaTimeline timeline = arenaTimeline(map, all.size());
  ordered_json made = {{"name", textOf(signature.name())},
                       {"inputs", ports(signature.inputs())},
                       {"outputs", ports(signature.outputs())},
                       {"bound_bytes", graph.bound()},
                       {"flops", count(all, "flops")},
                       {"bytes", count(all, "bytes")},
                       {"expected_ms", expectedSums(all, rates.size())},
                       {"peak_bytes", timeline.peak},
                       {"peak_command", timeline.peakCommand},
                       {"live_bytes", timeline.live},
                       {"commands", std::move(all)},
                       {"map", mapJson(map)}};
  if (ordered_json buckets = bucketsJson(artifact, plan, graph, rates);
      !buckets.empty())
    made["buckets"] = std::move(buckets);
  return made;
}

ordered_json graphs(const Artifact &artifact, const artifact::Plan &plan,
                    const Rates &rates) {
  ordered_json all = ordered_json::array();
  for (unsigned i = 0; plan.graphs() && i < plan.graphs()->size(); ++i)
    all.push_back(graphJson(artifact, plan, *plan.graphs()->Get(i), rates));
  return all;
}

/// The graph itself, then what runs in its place.
ordered_json schedules(const artifact::Header &header) {
  ordered_json all = ordered_json::array();
  for (unsigned i = 0; header.schedules() && i < header.schedules()->size();
       ++i) {
    const artifact::Schedule &schedule = *header.schedules()->Get(i);
    std::vector<std::string> variants;
    for (uint32_t graph : *schedule.variants())
      variants.push_back(textOf(header.graphs()->Get(graph)->name()));
    all.push_back(
        {{"graph", textOf(schedule.graph())}, {"variants", variants}});
  }
  return all;
}

/// Tells of each kernel what its assembler says and how it is launched.
ordered_json imageKernels(const artifact::CodeImage &image,
                          const artifact::CodeHeader *header) {
  ordered_json all = ordered_json::array();
  for (unsigned i = 0; image.kernels() && i < image.kernels()->size(); ++i) {
    const artifact::ImageKernel &use = *image.kernels()->Get(i);
    const artifact::KernelSignature &kernel = *header->kernels()->Get(i);
    all.push_back({{"name", textOf(kernel.name())},
                   {"threads", kernel.gpu()->threads()},
                   {"registers", use.registers()},
                   {"shared_bytes", use.shared()},
                   {"spilled_bytes", use.spilled()},
                   {"stack_bytes", use.stack()}});
  }
  return all;
}

ordered_json images(const Artifact &artifact, const artifact::Plan &plan) {
  ordered_json all = ordered_json::array();
  for (unsigned i = 0; plan.images() && i < plan.images()->size(); ++i) {
    const artifact::CodeImage &image = *plan.images()->Get(i);
    all.push_back({{"kind", artifact::EnumNameImageKind(image.kind())},
                   {"architecture", textOf(image.architecture())},
                   {"bytes", artifact.bytes(image.code()).size()},
                   {"kernels", imageKernels(image, artifact.kernels(plan))}});
  }
  return all;
}

/// Measures this machine over as many bytes as a step may touch.
DeviceRates measuredFor(const artifact::Header &header) {
  uint64_t footprint = 0;
  for (const artifact::Plan *plan : *header.plans())
    if (!isForGpus(*plan))
      footprint =
          std::max(footprint, plan->state_bytes() + plan->arena_bytes());
  return ratesOfMachine(availableCores(), footprint);
}

/// Known ones for which a plan has code.
Rates cardsOf(const artifact::Plan &plan) {
  Rates cards;
  for (const DeviceRates &card : knownCards())
    if (std::any_of(plan.images()->begin(), plan.images()->end(),
                    [&](const artifact::CodeImage *image) {
                      return textOf(image->architecture()) == card.architecture;
                    }))
      cards.push_back(card);
  return cards;
}

ordered_json ratesJson(const Rates &rates) {
  ordered_json all = ordered_json::array();
  for (const DeviceRates &each : rates) {
    all.push_back({{"device", each.device},
                   {"title", each.title},
                   {"flop_per_s", each.flops},
                   {"product_flop_per_s", each.productFlops},
                   {"bytes_per_s", each.bytes},
                   {"source", each.source()}});
    if (!each.isCard())
      all.back()["threads"] = each.threads;
  }
  return all;
}

ordered_json plans(const Artifact &artifact) {
  ordered_json all = ordered_json::array();
  Rates machine; // measured once, if a plan is for it
  for (const artifact::Plan *plan : *artifact.header().plans()) {
    if (!isForGpus(*plan) && machine.empty())
      machine.push_back(measuredFor(artifact.header()));
    Rates rates = isForGpus(*plan) ? cardsOf(*plan) : machine;
    uint64_t bound = 0;
    for (const artifact::GraphPlan *graph : *plan->graphs())
      bound = std::max(bound, graph->bound());
    uint64_t code = artifact.codeBytes(*plan);
    uint64_t constants = artifact.bytes(artifact.header().constants()).size();
    all.push_back(
        {{"target", textOf(plan->target())},
         {"threads", plan->threads()},
         {"state_bytes", plan->state_bytes()},
         {"arena_bytes", plan->arena_bytes()},
         {"bound_bytes", bound},
         {"code_bytes", code},
         {"constant_bytes", constants},
         {"predicted_bytes",
          plan->state_bytes() + plan->arena_bytes() + constants + code},
         {"rates", ratesJson(rates)},
         {"how", expectationText(rates)},
         {"libraries", librariesOf(*plan)},
         {"images", images(artifact, *plan)},
         {"graphs", graphs(artifact, *plan, rates)}});
  }
  return all;
}

/// Names the library that serves a command.
const char *libraryOf(const artifact::LibraryCommand &command, bool isForGpus) {
  if (!isForGpus)
    return "oneDNN";
  return command.op_as_matmul() ? "cuBLASLt" : "cuDNN";
}

/// "bias+gelu_tanh", "sum"; empty: the call has nothing besides.
std::string epilogueText(const artifact::LibraryCommand &command) {
  using artifact::Activation;
  Activation activation = activationOf(command);
  bool isGradient = activation == Activation::gelu_tanh_gradient,
       isProduct = command.op_as_matmul() || command.op_as_convolution();
  std::string text;
  if (isProduct && countOf(command.inputs()) > 2 && !isGradient)
    text = "bias";
  if (activation != Activation::none)
    append(text, text.empty() ? "" : "+",
           artifact::EnumNameActivation(activation));
  else if (command.op_as_matmul() && countOf(command.outputs()) > 1)
    text = "sum";
  return text;
}

} // namespace

ordered_json librariesOf(const artifact::Plan &plan) {
  std::map<std::string, std::map<std::string, std::string>> calls;
  for (size_t g = 0; g < countOf(plan.graphs()); ++g) {
    const auto *commands = plan.graphs()->Get(g)->commands();
    for (size_t c = 0; c < countOf(commands); ++c)
      if (auto *library = commands->Get(c)->kind_as_LibraryCommand())
        calls[libraryOf(*library, isForGpus(plan))].emplace(
            libraryText(*library), epilogueText(*library));
  }
  ordered_json all = ordered_json::array();
  for (const auto &[name, texts] : calls) {
    std::map<std::string, int> epilogues;
    for (const auto &[text, epilogue] : texts)
      if (!epilogue.empty())
        ++epilogues[epilogue];
    all.push_back({{"name", name},
                   {"different_calls", texts.size()},
                   {"epilogues", epilogues}});
  }
  return all;
}

std::string librariesText(const ordered_json &libraries) {
  std::string text;
  for (const ordered_json &each : libraries) {
    text += (text.empty() ? "" : ", ") + each["name"].get<std::string>() +
            " (" + jsonText(each["different_calls"]) +
            (each["different_calls"] == 1 ? " call" : " different calls");
    for (const auto &[epilogue, count] : each["epilogues"].items())
      text += ", " + jsonText(count) + " with " + epilogue;
    text += ")";
  }
  return text;
}

std::string targetText(const artifact::Plan &plan) {
  std::string list;
  for (unsigned i = 0; plan.images() && i < plan.images()->size(); ++i) {
    const artifact::CodeImage &image = *plan.images()->Get(i);
    list += list.empty() ? "" : ", ";
    if (image.kind() == artifact::ImageKind::cubin)
      list += textOf(image.architecture());
    else
      list += artifact::EnumNameImageKind(image.kind());
  }
  return textOf(plan.target()) + (list.empty() ? "" : " (" + list + ")");
}

/// Returns the size of the program that an artifact carries, and which compiler
/// can read it; null if it has none.
static ordered_json programOf(const Artifact &artifact) {
  const artifact::Program *program = artifact.header().program();
  if (!program)
    return nullptr;
  return {{"compiler", textOf(program->compiler())},
          {"bytes", artifact.bytes(program->bytecode()).size()}};
}

ordered_json artifactJson(const Artifact &artifact) {
  const artifact::Header &header = artifact.header();
  return {{"artifact", artifact.path()},
          {"name", textOf(header.name())},
          {"producer", textOf(header.producer())},
          {"bytes", artifact.size()},
          {"weights_bytes", artifact.bytes(header.weights()).size()},
          {"program", programOf(artifact)},
          {"deterministic", header.deterministic()},
          {"logical_ranks", header.logical_ranks()},
          {"ranks", header.ranks()},
          {"recipe", header.recipe() ? parsedJson<ordered_json>(
                                           header.recipe()->string_view())
                                     : ordered_json::object()},
          {"states", states(header)},
          {"schedules", schedules(header)},
          {"plans", plans(artifact)}};
}

} // namespace gradus::cli
