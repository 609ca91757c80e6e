// The session: facts in plain values, steps, schedules and state.

#include "runtime/session.h"

#include "runtime/checkpoint.h"
#include "runtime/cpu/features.h"
#include "runtime/flat.h"
#include "runtime/initial_state.h"
#include "runtime/loaded_plan.h"
#include "runtime/nonfinite.h"
#include "runtime/status.h"
#include "runtime/verify.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace gradus::runtime {

namespace {

//===-- facts -------------------------------------------------------------===//

TensorInfo infoOf(const flatbuffers::String *name,
                  const artifact::TensorType *type, int64_t indices = 0) {
  TensorInfo info{textOf(name), typeOf(type), 0, indices};
  info.bytes = *bytesOf(info.type);
  return info;
}

std::vector<TensorInfo>
infosOf(const flatbuffers::Vector<flatbuffers::Offset<artifact::Port>> *ports) {
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < countOf(ports); ++i)
    infos.push_back(infoOf(ports->Get(i)->name(), ports->Get(i)->type(),
                           ports->Get(i)->indices()));
  return infos;
}

CommandInfo infoOf(const artifact::Command &command) {
  CommandInfo info;
  info.name = textOf(command.name());
  info.kind = kindOf(command);
  for (size_t i = 0; i < countOf(command.nodes()); ++i)
    info.nodes.push_back(textOf(command.nodes()->Get(i)));
  info.flops = command.flops();
  info.bytes = command.bytes();
  return info;
}

GraphInfo infoOf(const artifact::Graph &graph,
                 const artifact::GraphPlan &plan) {
  GraphInfo info{textOf(graph.name()),
                 infosOf(graph.inputs()),
                 infosOf(graph.outputs()),
                 {},
                 plan.bound()};
  for (size_t i = 0; i < countOf(plan.commands()); ++i)
    info.commands.push_back(infoOf(*plan.commands()->Get(i)));
  return info;
}

std::vector<StateInfo> stateInfosOf(const artifact::Header &header) {
  std::vector<StateInfo> infos;
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State *state = header.states()->Get(i);
    StateInfo info;
    static_cast<TensorInfo &>(info) = infoOf(state->name(), state->type());
    info.role = state->role();
    infos.push_back(std::move(info));
  }
  return infos;
}

bool isCopy(const StateInfo &state) {
  return state.role == artifact::Role::copy;
}

template <typename Infos>
int findName(const Infos &infos, const std::string &name) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return static_cast<int>(i);
  return -1;
}

//===-- schedules ---------------------------------------------------------===//

/// The graphs that may run in place of one: the first that has k among its
/// steps, the last one otherwise.
struct Variants {
  std::vector<uint32_t> graphs;
  std::vector<int64_t> every, at;
  std::string counterName;
  const int64_t *counter = nullptr; // null: how often the graph has run

  size_t graphAt(int64_t step) const {
    for (size_t i = 0; i < graphs.size(); ++i)
      if (step % every[i] == at[i])
        return graphs[i];
    return graphs.back();
  }
};

Variants variantsOf(const artifact::Schedule &schedule) {
  Variants variants{valuesOf(schedule.variants()), valuesOf(schedule.every()),
                    valuesOf(schedule.at()), textOf(schedule.counter())};
  variants.every.resize(variants.graphs.size(), 1);
  variants.at.resize(variants.graphs.size(), 0);
  if (variants.counterName.empty())
    variants.counterName = "step";
  return variants;
}

/// One entry per graph; empty where no schedule has its name.
std::vector<Variants> schedulesOf(const artifact::Header &header,
                                  const std::vector<GraphInfo> &graphs) {
  std::vector<Variants> all(graphs.size());
  for (size_t i = 0; i < countOf(header.schedules()); ++i) {
    const artifact::Schedule *schedule = header.schedules()->Get(i);
    int graph = findName(graphs, textOf(schedule->graph()));
    if (graph >= 0)
      all[graph] = variantsOf(*schedule);
  }
  return all;
}

Status verifyOptions(const SessionOptions &options) {
  if (options.device != "cpu")
    return invalid("device ", options.device, " is not one of: cpu");
  if (options.threads < 0 || options.threads > kMostThreads)
    return invalid(options.threads, " threads are asked for; 0 to ",
                   kMostThreads, " are possible");
  return Status();
}

} // namespace

//===-- parts -------------------------------------------------------------===//

struct Session::Parts {
  std::unique_ptr<LoadedPlan> loaded;
  std::vector<GraphInfo> graphs;
  std::vector<StateInfo> states;
  std::vector<Variants> schedules;
  std::vector<std::span<int64_t>> times; // one per graph
  std::vector<size_t> lastVariants;      // one per graph: which one ran
  std::vector<int64_t> runs;             // one per graph: how often
  const int64_t *counter = nullptr;      // the state `step`
  std::atomic<bool> cancelled{false};
  std::unique_ptr<NonfiniteSearch> search; // null: off
  Probe probe;                             // empty: none
  std::vector<uint8_t *> buffers;          // of the plan
  int copiesGraph = -1;                    // makes copies; -1: there are none
  bool staleCopies = false; // of states that came from outside meanwhile

  explicit Parts(std::unique_ptr<LoadedPlan> plan);
  std::string where() const { return loaded->artifact().path(); }
  uint8_t *stateData(size_t i) const;
  const int64_t *findCounter(const std::string &name) const; // null: none
  std::vector<StateMemory> storedStates() const;
  void touch() { staleCopies = copiesGraph >= 0; }
  Status refreshCopies();
  Status runCommands(size_t graph, std::span<int64_t> nanoseconds);
  size_t variantOf(size_t graph) const;
  Status verifyCall(int graph, size_t steps, size_t inputs,
                    size_t outputs) const;
  Status runOnce(size_t graph, const void *const *inputs, void *const *outputs);
};

Session::Parts::Parts(std::unique_ptr<LoadedPlan> plan)
    : loaded(std::move(plan)) {
  const artifact::Header &header = loaded->artifact().header();
  for (size_t i = 0; i < countOf(header.graphs()); ++i)
    graphs.push_back(
        infoOf(*header.graphs()->Get(i), *loaded->graphs()[i].plan));
  states = stateInfosOf(header);
  schedules = schedulesOf(header, graphs);
  times.resize(graphs.size());
  runs.resize(graphs.size());
  counter = findCounter("step");
  for (Variants &variants : schedules)
    variants.counter = findCounter(variants.counterName);
  if (std::any_of(states.begin(), states.end(), isCopy))
    copiesGraph = findName(graphs, kCopiesGraph);
  touch();
  for (size_t graph = 0; graph < graphs.size(); ++graph)
    lastVariants.push_back(variantOf(graph));
}

const int64_t *Session::Parts::findCounter(const std::string &name) const {
  int state = findName(states, name);
  if (state < 0 || states[state].type != TensorType{DType::i64, {}})
    return nullptr;
  return reinterpret_cast<const int64_t *>(stateData(state));
}

uint8_t *Session::Parts::stateData(size_t i) const {
  return loaded->state().data() + loaded->plan().state_offsets()->Get(i);
}

/// What checkpoints hold.
std::vector<StateMemory> Session::Parts::storedStates() const {
  std::vector<StateMemory> memory;
  for (size_t i = 0; i < states.size(); ++i)
    if (!isCopy(states[i]))
      memory.push_back({&states[i], stateData(i)});
  return memory;
}

/// Only the first time after states came from outside.
Status Session::Parts::refreshCopies() {
  if (!staleCopies)
    return Status();
  FlushDenormals flush; // as steps round
  staleCopies = false;
  return gradus::runtime::at(loaded->run(copiesGraph, {}), where());
}

size_t Session::Parts::variantOf(size_t graph) const {
  const Variants &variants = schedules[graph];
  if (variants.graphs.empty())
    return graph;
  return variants.graphAt(variants.counter ? *variants.counter : runs[graph]);
}

Status Session::Parts::verifyCall(int graph, size_t steps, size_t inputs,
                                  size_t outputs) const {
  if (graph < 0 || static_cast<size_t>(graph) >= graphs.size())
    return invalid(where(), ": graph ", graph, " does not exist; there are ",
                   graphs.size());
  const GraphInfo &info = graphs[graph];
  if (inputs != 0 && inputs != steps * info.inputs.size())
    return invalid(where(), ": graph ", info.name, ": ", inputs,
                   " inputs were given for ", steps, " steps of ",
                   info.inputs.size());
  if (outputs != 0 && outputs != steps * info.outputs.size())
    return invalid(where(), ": graph ", info.name, ": ", outputs,
                   " outputs were given for ", steps, " steps of ",
                   info.outputs.size());
  return Status();
}

Status Session::Parts::runCommands(size_t graph,
                                   std::span<int64_t> nanoseconds) {
  if (search)
    return search->run(graph);
  if (!probe)
    return loaded->run(graph, nanoseconds);
  size_t count = loaded->graphs()[graph].commands.size();
  for (size_t command = 0; command < count; ++command) {
    probe(graph, command);
    GRADUS_TRY(loaded->runCommand(graph, command));
  }
  probe(graph, count);
  return Status();
}

Status Session::Parts::runOnce(size_t graph, const void *const *inputs,
                               void *const *outputs) {
  if (cancelled.load(std::memory_order_relaxed) && cancelled.exchange(false))
    return Status(StatusCode::cancelled, where() + ": cancelled");
  GRADUS_TRY(refreshCopies());
  size_t variant = variantOf(graph);
  const LoadedGraph &ports = loaded->graphs()[variant];
  for (size_t i = 0; inputs && i < ports.inputs.size(); ++i)
    if (inputs[i] && inputs[i] != ports.inputs[i].data && ports.inputs[i].bytes)
      std::memcpy(ports.inputs[i].data, inputs[i], ports.inputs[i].bytes);
  // Another variant has other commands than those that are timed.
  std::span<int64_t> nanoseconds;
  if (variant == graph)
    nanoseconds = times[graph];
  Status status = runCommands(variant, nanoseconds);
  if (!status.ok())
    return gradus::runtime::at(status, where());
  for (size_t i = 0; outputs && i < ports.outputs.size(); ++i)
    if (outputs[i] && ports.outputs[i].bytes)
      std::memcpy(outputs[i], ports.outputs[i].data, ports.outputs[i].bytes);
  lastVariants[graph] = variant;
  ++runs[graph];
  return Status();
}

//===-- making one --------------------------------------------------------===//

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::~Session() = default;

StatusOr<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Artifact> artifact,
                SessionOptions options) {
  const std::string path = artifact->path();
  GRADUS_TRY(at(verifyOptions(options), path));
  auto plan = choosePlan(artifact->header());
  GRADUS_TRY(at(plan.status(), path));
  int threads = options.threads ? options.threads : availableCores();
  bool deterministic =
      options.deterministic || artifact->header().deterministic();
  auto loaded = LoadedPlan::load(artifact, **plan, threads, deterministic);
  GRADUS_TRY(at(loaded.status(), path));
  auto parts = std::make_unique<Parts>(*std::move(loaded));
  initialiseStates(*artifact, **plan, parts->loaded->state().data());
  artifact->releasePages(); // code and weights have been copied
  std::unique_ptr<Session> session(new Session(std::move(parts)));
  if (options.log)
    options.log(inWords(path, ": plan ", textOf((*plan)->target()), ", ",
                        session->threads(), " threads, ",
                        session->memory().predicted(), " bytes"));
  return session;
}

StatusOr<std::unique_ptr<Session>> Session::load(const std::string &path,
                                                 SessionOptions options,
                                                 ReadOptions read) {
  GRADUS_ASSIGN(auto artifact, Artifact::open(path, read));
  return create(std::move(artifact), std::move(options));
}

//===-- facts -------------------------------------------------------------===//

const Artifact &Session::artifact() const { return parts_->loaded->artifact(); }
const artifact::Plan &Session::plan() const { return parts_->loaded->plan(); }
int Session::threads() const { return parts_->loaded->threads(); }
const std::vector<GraphInfo> &Session::graphs() const { return parts_->graphs; }
const std::vector<StateInfo> &Session::states() const { return parts_->states; }

int Session::findGraph(const std::string &name) const {
  return findName(parts_->graphs, name);
}
int Session::findState(const std::string &name) const {
  return findName(parts_->states, name);
}

MemoryInfo Session::memory() const {
  MemoryInfo memory;
  memory.state = plan().state_bytes();
  memory.arena = plan().arena_bytes() + parts_->loaded->extraScratch();
  memory.constants = artifact().bytes(artifact().header().constants()).size();
  memory.code = artifact().bytes(plan().code()).size();
  for (const GraphInfo &graph : parts_->graphs)
    memory.bound = std::max(memory.bound, graph.bound);
  return memory;
}

//===-- running -----------------------------------------------------------===//

Status Session::step(int graph, std::span<const void *const> inputs,
                     std::span<void *const> outputs) {
  GRADUS_TRY(parts_->verifyCall(graph, 1, inputs.size(), outputs.size()));
  FlushDenormals flush;
  return parts_->runOnce(graph, inputs.data(), outputs.data());
}

Status Session::steps(int graph, int64_t count,
                      std::span<const void *const> inputs,
                      std::span<void *const> outputs, int64_t *done) {
  int64_t ignored;
  int64_t &ran = done ? *done : ignored;
  ran = 0;
  if (count < 0)
    return invalid(parts_->where(), ": ", count, " steps were asked for");
  GRADUS_TRY(parts_->verifyCall(graph, count, inputs.size(), outputs.size()));
  FlushDenormals flush;
  size_t inputStride = inputs.empty() ? 0 : parts_->graphs[graph].inputs.size();
  size_t outputStride =
      outputs.empty() ? 0 : parts_->graphs[graph].outputs.size();
  for (; ran < count; ++ran)
    GRADUS_TRY(parts_->runOnce(graph, inputs.data() + ran * inputStride,
                               outputs.data() + ran * outputStride));
  return Status();
}

void Session::cancel() { parts_->cancelled.store(true); }

void *Session::inputBuffer(int graph, int input) {
  return parts_->loaded->graphs()[parts_->variantOf(graph)].inputs[input].data;
}

const void *Session::outputBuffer(int graph, int output) const {
  return parts_->loaded->graphs()[parts_->lastVariants[graph]]
      .outputs[output]
      .data;
}

void Session::timeCommands(int graph, std::span<int64_t> nanoseconds) {
  parts_->times[graph] = nanoseconds;
}

void Session::setProbe(Probe probe) {
  parts_->buffers = parts_->loaded->bufferAddresses();
  parts_->probe = std::move(probe);
}

const uint8_t *Session::bufferData(uint32_t buffer) const {
  return buffer < parts_->buffers.size() ? parts_->buffers[buffer] : nullptr;
}

void Session::searchNonfinite(bool on) {
  parts_->search =
      on ? std::make_unique<NonfiniteSearch>(*parts_->loaded) : nullptr;
}

std::string Session::firstNonfinite() const {
  return parts_->search ? parts_->search->found() : "";
}

std::string Session::spoiledState() const {
  return parts_->search ? parts_->search->spoiledState() : "";
}

//===-- state -------------------------------------------------------------===//

void *Session::stateBuffer(int state) {
  const void *data = std::as_const(*this).stateBuffer(state);
  parts_->touch();
  return const_cast<void *>(data);
}

const void *Session::stateBuffer(int state) const {
  if (isCopy(parts_->states[state]))
    (void)parts_->refreshCopies(); // kernels of our own, which do not fail
  return parts_->stateData(state);
}

namespace {

Status verifyState(const Session &session, int state, const std::string &name,
                   size_t bytes) {
  if (state < 0)
    return invalid(session.artifact().path(), ": there is no state ", name);
  size_t expected = session.states()[state].bytes;
  if (bytes != expected)
    return invalid(session.artifact().path(), ": state ", name, " has ",
                   expected, " bytes, and ", bytes, " were given");
  return Status();
}

} // namespace

Status Session::readState(const std::string &name, void *data,
                          size_t bytes) const {
  int state = findState(name);
  GRADUS_TRY(verifyState(*this, state, name, bytes));
  if (bytes)
    std::memcpy(data, stateBuffer(state), bytes);
  return Status();
}

Status Session::writeState(const std::string &name, const void *data,
                           size_t bytes) {
  int state = findState(name);
  GRADUS_TRY(verifyState(*this, state, name, bytes));
  parts_->touch();
  if (bytes)
    std::memcpy(parts_->stateData(state), data, bytes);
  return Status();
}

int64_t Session::stepCount() const {
  if (parts_->counter)
    return *parts_->counter;
  int train = findGraph("train");
  return train < 0 ? 0 : parts_->runs[train];
}

void Session::resetStates() {
  MemoryBlock &state = parts_->loaded->state();
  if (state.size() > 0)
    std::memset(state.data(), 0, state.size());
  initialiseStates(artifact(), plan(), state.data());
  std::fill(parts_->runs.begin(), parts_->runs.end(), 0);
  parts_->touch();
}

Status
Session::saveCheckpoint(const std::string &path,
                        const std::map<std::string, std::string> &notes) const {
  std::map<std::string, std::string> metadata = {
      {"format", "gradus"},
      {"program", textOf(artifact().header().name())},
      {"step", inWords(stepCount())}};
  metadata.insert(notes.begin(), notes.end());
  return writeCheckpoint(path, parts_->storedStates(), metadata);
}

Status Session::loadCheckpoint(const std::string &path, Restore what) {
  parts_->touch();
  return readCheckpoint(path, parts_->storedStates(), what);
}

Status Session::loadWeights(const std::string &path, const Rename &rename,
                            TakenWeights *taken) {
  TakenWeights ignored;
  parts_->touch();
  return readWeights(path, parts_->storedStates(), rename,
                     taken ? *taken : ignored);
}

} // namespace gradus::runtime
