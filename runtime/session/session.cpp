// The session: creation and steps.

#include "runtime/session/session.h"

#include "runtime/artifact/verify.h"
#include "runtime/collectives/collectives.h"
#include "runtime/device/profiler.h"
#include "runtime/flat.h"
#include "runtime/float_mode.h"
#include "runtime/session/choose_plan.h"
#include "runtime/session/devices.h"
#include "runtime/session/initial_state.h"
#include "runtime/session/session_facts.h"
#include "runtime/session/session_parts.h"
#include "runtime/status.h"
#include "runtime/well_known.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace gradus::runtime {

namespace {

Status verifyOptions(const SessionOptions &options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    return invalid(options.threads, " threads are asked for; 0 to ",
                   kMostThreads, " are possible");
  return Status();
}

} // namespace

//===-- parts -------------------------------------------------------------===//

Session::Parts::Parts(std::shared_ptr<const Artifact> from,
                      std::shared_ptr<Device> on, const artifact::Plan &chosen,
                      std::unique_ptr<DevicePlan> made)
    : artifact(std::move(from)), device(std::move(on)), plan(chosen),
      loaded(std::move(made)), values(*loaded, artifact->header(), plan),
      view(*loaded), states(stateInfosOf(artifact->header())) {
  const artifact::Header &header = artifact->header();
  for (const artifact::GraphPlan *graph : graphPlansOf(header, plan)) {
    size_t i = graphs.size();
    graphs.push_back(infoOf(*header.graphs()->Get(i), *graph));
    runs.push_back({graph, i, {}, {}});
  }
  readSchedules();
  counter = findCounter(well_known::kStep);
  if (std::any_of(states.begin(), states.end(), isCopy))
    copies.graph = findName(graphs, well_known::kRoundWeights);
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].isNumber() && states[i].minimum > 0)
      awaited.push_back(i);
  copies.touch();
}

void Session::Parts::readSchedules() {
  const artifact::Header &header = artifact->header();
  for (size_t i = 0; i < countOf(header.schedules()); ++i) {
    const artifact::Schedule *schedule = header.schedules()->Get(i);
    int graph = findName(graphs, textOf(schedule->graph()));
    if (graph < 0)
      continue;
    Variants variants = variantsOf(*schedule);
    variants.counter = findCounter(variants.counterName);
    runs[graph].variants = std::move(variants);
  }
}

/// A child of fork has no threads of its parent, and no GPU.
Status Session::Parts::verifyOrigin() const {
  if (place.origin.isOther())
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

/// Whether a call of a graph would go on with a step that earlier turns have
/// begun.
StatusOr<bool> Session::Parts::goesOn(size_t graph) {
  if (place.turn < 0 || runs[graph].variants.counter != place.turn)
    return false;
  GRADUS_ASSIGN(int64_t turn, countOfSteps(place.turn));
  return turn != place.turns() - 1;
}

/// Tells the graphs which rank runs them, and that a step begins.
Status Session::Parts::setPlaces() {
  for (size_t i = 0; i < states.size(); ++i) {
    if (!isPlace(states[i]))
      continue;
    int64_t value = place.valueOf(states[i]);
    GRADUS_TRY(values.write(
        i, {reinterpret_cast<const uint8_t *>(&value), sizeof(value)}));
  }
  return Status();
}

/// Runs only once after states were written from outside.
Status Session::Parts::refreshCopies() {
  if (!copies.isStale)
    return Status();
  Status status = loaded->run(copies.graph);
  values.forget();
  copies.isStale = !status.ok();
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
  const Variants &variants = runs[graph].variants;
  if (variants.graphs.empty())
    return graph;
  int64_t step = runs[graph].count;
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

Status Session::Parts::runGraph(size_t graph, bool isLaterTurn) {
  if (observers.search)
    return observers.search->run(*runs[graph].plan, isLaterTurn);
  std::span<int64_t> nanoseconds = runs[graph].times;
  if (!observers.probe)
    return nanoseconds.empty() ? loaded->run(graph)
                               : loaded->runTimed(graph, nanoseconds);
  return loaded->runStepwise(graph, [&](size_t command) {
    observers.probe(graph, command);
    return Status();
  });
}

Status Session::Parts::takeInputs(size_t graph, const void *const *inputs,
                                  const OnDevice &on) {
  std::span<const HostPort> ports = loaded->inputs(graph);
  for (size_t i = 0; i < ports.size(); ++i)
    if (inputs[i] && !on.flags.empty() && on.flags[i])
      GRADUS_TRY(loaded->readFromDevice(graph, {i, inputs[i], on.stream}));
    else if (inputs[i] && inputs[i] != ports[i].data && ports[i].bytes)
      std::memcpy(ports[i].data, inputs[i], ports[i].bytes);
  return Status();
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
                               void *const *outputs, const OnDevice &on) {
  bool isLaterTurn = false, ends = cancelled.load(std::memory_order_relaxed);
  if (ends || observers.search) {
    GRADUS_ASSIGN(isLaterTurn, goesOn(graph));
  }
  if (ends && !isLaterTurn && cancelled.exchange(false))
    return Status(StatusCode::cancelled, where() + ": cancelled");
  if (graphs[graph].name.starts_with(well_known::kTrain))
    GRADUS_TRY(gradus::runtime::at(place.training, where()));
  if (copies.isStale)
    GRADUS_TRY(refreshCopies());
  if (!awaited.empty() && graphs[graph].name == well_known::kTrain)
    GRADUS_TRY(verifyNumbersAreSet());
  size_t variant = graph;
  if (!runs[graph].variants.graphs.empty()) {
    GRADUS_ASSIGN(variant, variantOf(graph));
  }
  ProfilerRange range([&] {
    return inWords(graphs[variant].name, " step ", runs[graph].count);
  });
  Status status = inputs ? takeInputs(variant, inputs, on) : Status();
  if (status.ok())
    status = runGraph(variant, isLaterTurn);
  values.forget();
  if (!status.ok())
    return gradus::runtime::at(status, where());
  if (outputs)
    GRADUS_TRY(giveOutputs(variant, outputs));
  runs[graph].lastVariant = variant;
  ++runs[graph].count;
  return Status();
}

//===-- creation ----------------------------------------------------------===//

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Session::~Session() {
  // A child of fork must not call a GPU's driver, even to free memory.
  if (parts_->place.origin.isOther() && parts_->device->kind() != "cpu")
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
  auto place = placeOf(artifact->header(), options.collectives.get());
  GRADUS_TRY(at(place.status(), path));
  QuietFloats quiet; // Values of states are converted.
  auto plan =
      options.collectives
          ? chooseCommonPlan(artifact->header(), *device, *options.collectives)
          : choosePlan(artifact->header(), *device);
  GRADUS_TRY(at(plan.status(), path));
  bool deterministic =
      options.deterministic || artifact->header().deterministic();
  auto loaded = device->load(
      *artifact, **plan, {options.threads, deterministic, options.collectives});
  GRADUS_TRY(at(loaded.status(), path));
  GRADUS_TRY(
      at(initialiseStates(*artifact, **plan, **loaded, place->rank), path));
  std::unique_ptr<Session> session(new Session(std::make_unique<Parts>(
      std::move(artifact), std::move(device), **plan, *std::move(loaded))));
  Parts &parts = *session->parts_;
  parts.place = *place;
  GRADUS_TRY(at(hashWholes(*parts.artifact, parts.values), path));
  if (!options.onAnyRanks)
    parts.place.training =
        verifyTrainsOn(parts.artifact->header(), **plan, place->ranks);
  GRADUS_TRY(at(parts.setPlaces(), path));
  if (Log log = std::move(options.log)) {
    std::string chosen = parts.loaded->chosen();
    log(inWords(path, ": plan ", textOf((*plan)->target()), ", ",
                parts.loaded->name(), ", ", session->memory().predicted(),
                " bytes", chosen.empty() ? "" : ", ", chosen));
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
int64_t Session::logicalRanks() const { return parts_->place.logicalRanks; }
int64_t Session::turns() const { return parts_->place.turns(); }
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
  MemoryInfo memory = memoryOf(artifact(), plan(), graphs());
  memory.atLoad = parts_->loaded->extraBytes();
  return memory;
}

//===-- running -----------------------------------------------------------===//

Status Session::step(int graph, std::span<const void *const> inputs,
                     std::span<void *const> outputs, const OnDevice &on) {
  return steps(graph, 1, inputs, outputs, nullptr, on);
}

Status Session::steps(int graph, int64_t count,
                      std::span<const void *const> inputs,
                      std::span<void *const> outputs, int64_t *done,
                      const OnDevice &on) {
  int64_t ignored;
  int64_t &ran = done ? *done : ignored;
  ran = 0;
  if (count < 0)
    return invalid(parts_->where(), ": ", count, " steps were asked for");
  GRADUS_TRY(parts_->verifyCall(graph, count, inputs.size(), outputs.size()));
  if (!on.flags.empty() && on.flags.size() != inputs.size())
    return invalid(parts_->where(), ": ", on.flags.size(),
                   " inputs are said to be on the device or not, of ",
                   inputs.size());
  size_t inputStride = inputs.empty() ? 0 : parts_->graphs[graph].inputs.size();
  size_t outputStride =
      outputs.empty() ? 0 : parts_->graphs[graph].outputs.size();
  Status status;
  while (status.ok() && ran < count) {
    OnDevice of = on;
    if (!on.flags.empty())
      of.flags = on.flags.subspan(ran * inputStride, inputStride);
    status = parts_->runOnce(graph, inputs.data() + ran * inputStride,
                             outputs.data() + ran * outputStride, of);
    ran += status.ok();
  }
  Status ended = parts_->wait();
  if (!ended.ok() && outputs.empty()) {
    // No earlier step was waited for: none is known to have ended.
    parts_->runs[graph].count -= ran;
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
  return parts_->loaded->outputs(parts_->runs[graph].lastVariant)[output].data;
}

int Session::lastVariant(int graph) const {
  return static_cast<int>(parts_->runs[graph].lastVariant);
}

void Session::timeCommands(int graph, std::span<int64_t> nanoseconds) {
  parts_->runs[graph].times = nanoseconds;
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

void Session::setProbe(Probe probe) {
  parts_->observers.probe = std::move(probe);
}

StatusOr<std::span<const uint8_t>> Session::bufferBytes(uint32_t buffer) const {
  return parts_->view.bytes(*plan().buffers()->Get(buffer));
}

void Session::searchNonfinite(bool on) {
  parts_->observers.search.reset();
  if (on)
    parts_->observers.search = std::make_unique<NonfiniteSearch>(
        artifact(), plan(), *parts_->loaded, parts_->values);
}

std::string Session::firstNonfinite() const {
  return parts_->observers.search ? parts_->observers.search->found() : "";
}

std::string Session::spoiledState() const {
  return parts_->observers.search ? parts_->observers.search->spoiledState()
                                  : "";
}

} // namespace gradus::runtime
