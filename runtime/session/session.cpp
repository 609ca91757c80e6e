// The session: information in plain values, steps, schedules and state.

#include "runtime/session/session.h"

#include "runtime/artifact/command.h"
#include "runtime/artifact/verify.h"
#include "runtime/device/profiler.h"
#include "runtime/flat.h"
#include "runtime/float_mode.h"
#include "runtime/origin.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/choose_plan.h"
#include "runtime/session/devices.h"
#include "runtime/session/host_view.h"
#include "runtime/session/initial_state.h"
#include "runtime/session/nonfinite.h"
#include "runtime/status.h"
#include "runtime/well_known.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
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
  infos.reserve(countOf(ports));
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
    info.minimum = state->minimum();
    info.limit = state->limit();
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

/// The graphs that may run instead of one: the first variant with k % every ==
/// at, else the last.
struct Variants {
  std::vector<uint32_t> graphs;
  std::vector<int64_t> every, at;
  std::string counterName;
  int counter = -1; // a state; -1: the number of runs of the graph

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
    variants.counterName = well_known::kStep;
  return variants;
}

/// The variants of each graph; empty if no schedule names it.
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

/// The plans of the graphs in the header's order; plans list them in their own.
std::vector<const artifact::GraphPlan *>
graphPlansOf(const artifact::Header &header, const artifact::Plan &plan) {
  std::vector<const artifact::GraphPlan *> plans(countOf(header.graphs()));
  for (size_t i = 0; i < countOf(plan.graphs()); ++i)
    plans[plan.graphs()->Get(i)->graph()] = plan.graphs()->Get(i);
  return plans;
}

Status verifyOptions(const SessionOptions &options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    return invalid(options.threads, " threads are asked for; 0 to ",
                   kMostThreads, " are possible");
  return Status();
}

} // namespace

//===-- parts -------------------------------------------------------------===//

struct Session::Parts {
  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<Device> device;
  const artifact::Plan &plan;
  std::unique_ptr<DevicePlan> loaded;
  HostStates values;                              // of states
  HostView view;                                  // of buffers
  std::vector<const artifact::GraphPlan *> plans; // one per graph
  std::vector<GraphInfo> graphs;
  std::vector<StateInfo> states;
  std::vector<Variants> schedules;
  std::vector<std::span<int64_t>> times; // one per graph
  std::vector<size_t> lastVariants;      // one per graph: the variant that ran
  std::vector<int64_t> runs;             // one per graph: the number of runs
  int counter = -1;                      // the state `step`
  std::atomic<bool> cancelled{false};
  std::unique_ptr<NonfiniteSearch> search; // null: off
  Probe probe;                             // empty: none
  int copiesGraph = -1;     // the graph that makes copies; -1: none
  bool staleCopies = false; // the sources of copies were changed from outside
  std::vector<size_t> awaited; // numbers that may not be set yet
  Origin origin;               // the process that has its threads

  Parts(std::shared_ptr<const Artifact> artifact,
        std::shared_ptr<Device> device, const artifact::Plan &plan,
        std::unique_ptr<DevicePlan> loaded);
  const std::string &where() const { return artifact->path(); }
  Status verifyOrigin() const;
  int findCounter(const std::string &name) const; // -1: none
  StatusOr<int64_t> countOfSteps(int counter);
  std::vector<StoredState> storedStates() const;
  void touch() { staleCopies = copiesGraph >= 0; }
  Status refreshCopies();
  Status verifyNumbersAreSet();
  Status runGraph(size_t graph, std::span<int64_t> nanoseconds);
  StatusOr<size_t> variantOf(size_t graph);
  Status verifyCall(int graph, size_t steps, size_t inputs,
                    size_t outputs) const;
  void takeInputs(size_t graph, const void *const *inputs);
  Status giveOutputs(size_t graph, void *const *outputs);
  Status runOnce(size_t graph, const void *const *inputs, void *const *outputs);
  Status wait();
};

Session::Parts::Parts(std::shared_ptr<const Artifact> from,
                      std::shared_ptr<Device> on, const artifact::Plan &chosen,
                      std::unique_ptr<DevicePlan> made)
    : artifact(std::move(from)), device(std::move(on)), plan(chosen),
      loaded(std::move(made)), values(*loaded, artifact->header(), plan),
      view(*loaded), plans(graphPlansOf(artifact->header(), plan)) {
  const artifact::Header &header = artifact->header();
  for (size_t i = 0; i < countOf(header.graphs()); ++i) {
    graphs.push_back(infoOf(*header.graphs()->Get(i), *plans[i]));
    lastVariants.push_back(i);
  }
  states = stateInfosOf(header);
  schedules = schedulesOf(header, graphs);
  times.resize(graphs.size());
  runs.resize(graphs.size());
  counter = findCounter(well_known::kStep);
  for (Variants &variants : schedules)
    variants.counter = findCounter(variants.counterName);
  if (std::any_of(states.begin(), states.end(), isCopy))
    copiesGraph = findName(graphs, well_known::kRoundWeights);
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].isNumber() && states[i].minimum > 0)
      awaited.push_back(i);
  touch();
}

/// A child of fork has no threads of its parent, and no GPU.
Status Session::Parts::verifyOrigin() const {
  if (origin.isOther())
    return invalid(where(), ": this session was loaded by the parent process, "
                            "before fork; load the artifact in this one");
  return Status();
}

int Session::Parts::findCounter(const std::string &name) const {
  int state = findName(states, name);
  bool counts = state >= 0 && states[state].type == TensorType{DType::i64, {}};
  return counts ? state : -1;
}

/// The value of a counter. Only steps know what they add to it: skipped steps
/// may add nothing.
StatusOr<int64_t> Session::Parts::countOfSteps(int state) {
  auto bytes = values.bytes(state);
  GRADUS_TRY(gradus::runtime::at(bytes.status(), where()));
  int64_t count;
  std::memcpy(&count, bytes->data(), sizeof(count));
  return count;
}

/// The states that checkpoints hold.
std::vector<StoredState> Session::Parts::storedStates() const {
  std::vector<StoredState> stored;
  for (size_t i = 0; i < states.size(); ++i)
    if (!isCopy(states[i]))
      stored.push_back({&states[i], i});
  return stored;
}

/// Runs only once after states were written from outside.
Status Session::Parts::refreshCopies() {
  if (!staleCopies)
    return Status();
  Status status = loaded->run(copiesGraph);
  values.forget();
  staleCopies = !status.ok();
  return gradus::runtime::at(status, where());
}

/// Verifies numbers once: a number that was set stays in its range.
Status Session::Parts::verifyNumbersAreSet() {
  for (size_t state : awaited) {
    auto bytes = values.bytes(state);
    GRADUS_TRY(gradus::runtime::at(bytes.status(), where()));
    double number;
    std::memcpy(&number, bytes->data(), sizeof(number));
    if (number < states[state].minimum)
      return invalid(where(), ": ", states[state].name, " is ", number,
                     ", expected the length of the run: set it before the "
                     "first step of training");
  }
  awaited.clear();
  return Status();
}

Status Session::Parts::wait() {
  Status status = loaded->wait();
  return status.ok() ? status : gradus::runtime::at(status, where());
}

StatusOr<size_t> Session::Parts::variantOf(size_t graph) {
  const Variants &variants = schedules[graph];
  if (variants.graphs.empty())
    return graph;
  int64_t step = runs[graph];
  if (variants.counter >= 0) {
    GRADUS_ASSIGN(step, countOfSteps(variants.counter));
  }
  return variants.graphAt(step);
}

Status Session::Parts::verifyCall(int graph, size_t steps, size_t inputs,
                                  size_t outputs) const {
  GRADUS_TRY(verifyOrigin());
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

Status Session::Parts::runGraph(size_t graph, std::span<int64_t> nanoseconds) {
  if (search)
    return search->run(*plans[graph]);
  if (!probe)
    return nanoseconds.empty() ? loaded->run(graph)
                               : loaded->runTimed(graph, nanoseconds);
  return loaded->runStepwise(graph, [&](size_t command) {
    probe(graph, command);
    return Status();
  });
}

void Session::Parts::takeInputs(size_t graph, const void *const *inputs) {
  std::span<const HostPort> ports = loaded->inputs(graph);
  for (size_t i = 0; i < ports.size(); ++i)
    if (inputs[i] && inputs[i] != ports[i].data && ports[i].bytes)
      std::memcpy(ports[i].data, inputs[i], ports[i].bytes);
}

Status Session::Parts::giveOutputs(size_t graph, void *const *outputs) {
  GRADUS_TRY(wait());
  std::span<const HostPort> ports = loaded->outputs(graph);
  for (size_t i = 0; i < ports.size(); ++i)
    if (outputs[i] && ports[i].bytes)
      std::memcpy(outputs[i], ports[i].data, ports[i].bytes);
  return Status();
}

Status Session::Parts::runOnce(size_t graph, const void *const *inputs,
                               void *const *outputs) {
  if (cancelled.load(std::memory_order_relaxed) && cancelled.exchange(false))
    return Status(StatusCode::cancelled, where() + ": cancelled");
  if (staleCopies)
    GRADUS_TRY(refreshCopies());
  if (!awaited.empty() && graphs[graph].name == well_known::kTrain)
    GRADUS_TRY(verifyNumbersAreSet());
  size_t variant = graph;
  if (!schedules[graph].graphs.empty()) {
    GRADUS_ASSIGN(variant, variantOf(graph));
  }
  ProfilerRange range(
      [&] { return inWords(graphs[variant].name, " step ", runs[graph]); });
  if (inputs)
    takeInputs(variant, inputs);
  // Another variant has other commands than the timed ones.
  std::span<int64_t> nanoseconds;
  if (variant == graph)
    nanoseconds = times[graph];
  Status status = runGraph(variant, nanoseconds);
  values.forget();
  if (!status.ok())
    return gradus::runtime::at(status, where());
  if (outputs)
    GRADUS_TRY(giveOutputs(variant, outputs));
  lastVariants[graph] = variant;
  ++runs[graph];
  return Status();
}

//===-- creation ----------------------------------------------------------===//

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Session::~Session() {
  // A child of fork must not call a GPU's driver, even to free memory.
  if (parts_->origin.isOther() && parts_->device->kind() != "cpu")
    (void)parts_.release();
}

StatusOr<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Artifact> artifact,
                SessionOptions options) {
  auto device = openDeviceFor(artifact->header(), options.device);
  GRADUS_TRY(at(device.status(), artifact->path()));
  return create(std::move(artifact), *std::move(device), std::move(options));
}

StatusOr<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Artifact> artifact,
                std::shared_ptr<Device> device, SessionOptions options) {
  const std::string path = artifact->path();
  GRADUS_TRY(at(verifyOptions(options), path));
  QuietFloats quiet; // Values of states are converted.
  auto plan = choosePlan(artifact->header(), *device);
  GRADUS_TRY(at(plan.status(), path));
  bool deterministic =
      options.deterministic || artifact->header().deterministic();
  auto loaded =
      device->load(*artifact, **plan, {options.threads, deterministic});
  GRADUS_TRY(at(loaded.status(), path));
  GRADUS_TRY(at(initialiseStates(*artifact, **plan, **loaded), path));
  std::unique_ptr<Session> session(new Session(std::make_unique<Parts>(
      std::move(artifact), std::move(device), **plan, *std::move(loaded))));
  if (Log log = std::move(options.log)) {
    std::string chosen = session->parts_->loaded->chosen();
    log(inWords(path, ": plan ", textOf((*plan)->target()), ", ",
                session->parts_->loaded->name(), ", ",
                session->memory().predicted(), " bytes",
                chosen.empty() ? "" : ", ", chosen));
  }
  return session;
}

StatusOr<std::unique_ptr<Session>> Session::load(const std::string &path,
                                                 SessionOptions options,
                                                 ReadOptions read) {
  GRADUS_ASSIGN(auto artifact, Artifact::open(path, read));
  return create(std::move(artifact), std::move(options));
}

//===-- facts -------------------------------------------------------------===//

const Artifact &Session::artifact() const { return *parts_->artifact; }
const artifact::Plan &Session::plan() const { return parts_->plan; }
int Session::threads() const { return parts_->loaded->threads(); }
std::string Session::runsOn() const { return parts_->loaded->name(); }
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
  memory.arena = plan().arena_bytes();
  memory.constants = artifact().bytes(artifact().header().constants()).size();
  memory.code = artifact().codeBytes(plan());
  memory.atLoad = parts_->loaded->extraBytes();
  for (const GraphInfo &graph : parts_->graphs)
    memory.bound = std::max(memory.bound, graph.bound);
  return memory;
}

//===-- running -----------------------------------------------------------===//

Status Session::step(int graph, std::span<const void *const> inputs,
                     std::span<void *const> outputs) {
  return steps(graph, 1, inputs, outputs);
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
  size_t inputStride = inputs.empty() ? 0 : parts_->graphs[graph].inputs.size();
  size_t outputStride =
      outputs.empty() ? 0 : parts_->graphs[graph].outputs.size();
  Status status;
  while (status.ok() && ran < count) {
    status = parts_->runOnce(graph, inputs.data() + ran * inputStride,
                             outputs.data() + ran * outputStride);
    ran += status.ok();
  }
  Status ended = parts_->wait();
  if (!ended.ok() && outputs.empty()) {
    // No earlier step was waited for: none is known to have ended.
    parts_->runs[graph] -= ran;
    ran = 0;
  }
  return status.ok() ? ended : status;
}

void Session::cancel() { parts_->cancelled.store(true); }

void *Session::inputBuffer(int graph, int input) {
  if (!parts_->verifyOrigin().ok())
    return nullptr;
  auto variant = parts_->variantOf(graph);
  return variant.ok() ? parts_->loaded->inputs(*variant)[input].data : nullptr;
}

const void *Session::outputBuffer(int graph, int output) const {
  return parts_->loaded->outputs(parts_->lastVariants[graph])[output].data;
}

void Session::timeCommands(int graph, std::span<int64_t> nanoseconds) {
  parts_->times[graph] = nanoseconds;
}

size_t Session::launches(int graph) const {
  return parts_->loaded->launches(static_cast<size_t>(graph));
}

StatusOr<int64_t> Session::hostTime(int graph) {
  GRADUS_TRY(parts_->verifyCall(graph, 1, 0, 0));
  GRADUS_TRY(parts_->wait());
  auto began = std::chrono::steady_clock::now();
  GRADUS_TRY(parts_->runOnce(graph, nullptr, nullptr));
  std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
  GRADUS_TRY(parts_->wait());
  return int64_t(took.count());
}

void Session::setProbe(Probe probe) { parts_->probe = std::move(probe); }

StatusOr<std::span<const uint8_t>> Session::bufferBytes(uint32_t buffer) const {
  return parts_->view.bytes(*plan().buffers()->Get(buffer));
}

void Session::searchNonfinite(bool on) {
  parts_->search.reset();
  if (on)
    parts_->search = std::make_unique<NonfiniteSearch>(
        artifact(), plan(), *parts_->loaded, parts_->values);
}

std::string Session::firstNonfinite() const {
  return parts_->search ? parts_->search->found() : "";
}

std::string Session::spoiledState() const {
  return parts_->search ? parts_->search->spoiledState() : "";
}

//===-- state -------------------------------------------------------------===//

StatusOr<std::span<const uint8_t>> Session::stateBytes(int state) const {
  GRADUS_TRY(parts_->verifyOrigin());
  if (isCopy(parts_->states[state]))
    GRADUS_TRY(parts_->refreshCopies());
  auto bytes = parts_->values.bytes(state);
  GRADUS_TRY(at(bytes.status(), artifact().path()));
  return bytes;
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
  GRADUS_ASSIGN(auto found, stateBytes(state));
  if (bytes)
    std::memcpy(data, found.data(), bytes);
  return Status();
}

bool StateInfo::isNumber() const {
  return std::isfinite(minimum) && type.shape.empty() &&
         type.dtype == artifact::DType::f64;
}

Status Session::writeState(int state, std::span<const uint8_t> from) {
  GRADUS_TRY(parts_->verifyOrigin());
  const StateInfo &info = parts_->states[state];
  GRADUS_TRY(verifyState(*this, state, info.name, from.size()));
  GRADUS_TRY(verifyNumber(info, from));
  parts_->touch();
  return at(parts_->values.write(state, from), artifact().path());
}

Status Session::writeState(const std::string &name, const void *data,
                           size_t bytes) {
  int state = findState(name);
  GRADUS_TRY(verifyState(*this, state, name, bytes));
  return writeState(state, {static_cast<const uint8_t *>(data), bytes});
}

StatusOr<int64_t> Session::stepCount() const {
  GRADUS_TRY(parts_->verifyOrigin());
  if (parts_->counter >= 0)
    return parts_->countOfSteps(parts_->counter);
  int train = findGraph(well_known::kTrain);
  return train < 0 ? 0 : parts_->runs[train];
}

Status Session::resetStates() {
  GRADUS_TRY(parts_->verifyOrigin());
  QuietFloats quiet;
  parts_->touch();
  parts_->values.forget();
  GRADUS_TRY(
      at(gradus::runtime::resetStates(artifact(), plan(), *parts_->loaded),
         artifact().path()));
  std::fill(parts_->runs.begin(), parts_->runs.end(), 0);
  return Status();
}

Status Session::saveCheckpoint(const std::string &path,
                               const std::map<std::string, std::string> &notes,
                               FileHold *hold) const {
  GRADUS_ASSIGN(int64_t step, stepCount());
  std::map<std::string, std::string> metadata = {
      {"format", "gradus"},
      {"program", textOf(artifact().header().name())},
      {well_known::kStep, inWords(step)}};
  metadata.insert(notes.begin(), notes.end());
  return writeCheckpoint(path, parts_->storedStates(), parts_->values, metadata,
                         hold);
}

Status Session::loadCheckpoint(const std::string &path, Restore what) {
  GRADUS_TRY(parts_->verifyOrigin());
  QuietFloats quiet;
  parts_->touch();
  return readCheckpoint(path, parts_->storedStates(), parts_->values, what);
}

Status Session::loadWeights(const std::string &path, const Rename &rename,
                            TakenWeights *taken) {
  GRADUS_TRY(parts_->verifyOrigin());
  QuietFloats quiet;
  TakenWeights ignored;
  parts_->touch();
  return readWeights(path, parts_->storedStates(), parts_->values, rename,
                     taken ? *taken : ignored);
}

} // namespace gradus::runtime
