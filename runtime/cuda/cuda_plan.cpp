// Each graph of the program first copies its inputs from the staged block and
// finally copies its outputs to pinned memory; the plan's commands are in
// between.

#include "runtime/cuda/cuda_plan.h"

#include "runtime/device/profiler.h"
#include "runtime/flat.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime::cuda {

namespace {

using artifact::Region;

template <typename Ports> std::vector<HostPort> portsOf(const Ports *ports) {
  std::vector<HostPort> sizes;
  sizes.reserve(countOf(ports));
  for (size_t i = 0; i < countOf(ports); ++i)
    sizes.push_back(
        {nullptr, bytesOf(typeOf(ports->Get(i)->type())).value_or(0)});
  return sizes;
}

/// The size of a block that holds all ports.
size_t bytesOf(const std::vector<HostPort> &ports) {
  size_t bytes = 0;
  for (const HostPort &port : ports)
    bytes += aligned(port.bytes);
  return bytes;
}

} // namespace

//===-- loading -----------------------------------------------------------===//

StatusOr<std::unique_ptr<CudaPlan>>
CudaPlan::load(const Card &card, const Artifact &artifact,
               const artifact::Plan &plan, PlanCode code,
               LibraryServer *library, Order order, size_t pinnedAtLoad) {
  GRADUS_TRY(card.makeCurrent());
  std::unique_ptr<CudaPlan> loaded(
      new CudaPlan(card, artifact, plan, std::move(code), library));
  loaded->pinnedAtLoad_ = pinnedAtLoad;
  GRADUS_TRY(loaded->nodes_.prepare());
  GRADUS_TRY(loaded->allocate(loaded->nodes_.extras()));
  GRADUS_TRY(loaded->nodes_.warmUp(loaded->stream_.get()));
  GRADUS_TRY(
      loaded->memory_.clear(card, artifact, plan, loaded->stream_.get()));
  GRADUS_TRY(loaded->prepare(order));
  GRADUS_TRY(loaded->sendTables());
  return loaded;
}

CudaPlan::~CudaPlan() {
  // Memory must be freed with its GPU current, after the work that uses it.
  if (!card_.makeCurrent().ok())
    return;
  if (stream_)
    (void)wait();
  if (staging_)
    (void)staging_->wait();
}

Status CudaPlan::allocate(const StepExtras &extras) {
  size_t inputs = layOutPorts(), outputs = 0;
  for (Step &step : steps_) {
    size_t bytes = bytesOf(step.outputs);
    step.hasLateOutputs = bytes > pinnedAtLoad_;
    if (!step.hasLateOutputs)
      outputs = std::max(outputs, bytes);
  }
  GRADUS_ASSIGN(memory_,
                PlanMemory::allocate(card_, artifact_, plan_, extras, inputs));
  GRADUS_ASSIGN(stream_, card_.createStream());
  GRADUS_ASSIGN(staging_, Staging::create(card_, inputs));
  GRADUS_ASSIGN(outputs_, card_.allocatePinned({"outputs", outputs}));
  nodes_.place(memory_.addresses());
  return Status();
}

/// Assigns offsets in the staged block to the inputs of each graph; returns the
/// size of the largest.
size_t CudaPlan::layOutPorts() {
  const artifact::Header &header = artifact_.header();
  size_t most = 0;
  for (size_t g = 0; g < countOf(header.graphs()); ++g) {
    Step step;
    step.inputs = portsOf(header.graphs()->Get(g)->inputs());
    step.outputs = portsOf(header.graphs()->Get(g)->outputs());
    size_t offset = 0;
    for (const HostPort &port : step.inputs) {
      step.inputOffsets.push_back(offset);
      offset += aligned(port.bytes);
    }
    most = std::max(most, offset);
    steps_.push_back(std::move(step));
  }
  return most;
}

Status CudaPlan::prepare(Order order) {
  for (size_t i = 0; i < countOf(plan_.graphs()); ++i) {
    const artifact::GraphPlan &graph = *plan_.graphs()->Get(i);
    Step &step = steps_[graph.graph()];
    step.plan = &graph;
    GRADUS_ASSIGN(std::vector<Node> taking, inputNodes(step));
    step.parts.push_back(std::move(taking));
    for (size_t c = 0; c < countOf(graph.commands()); ++c) {
      GRADUS_ASSIGN(std::vector<Node> nodes, nodes_.nodesOf(graph, c));
      step.parts.push_back(std::move(nodes));
    }
    step.parts.push_back(step.hasLateOutputs ? std::vector<Node>()
                                             : outputNodes(step));
    step.stepwise.resize(step.parts.size());
    std::vector<Node> all;
    for (const std::vector<Node> &part : step.parts)
      all.insert(all.end(), part.begin(), part.end());
    GRADUS_ASSIGN(step.whole, StepGraph::build(card_, all, order));
    GRADUS_TRY(step.whole->upload(stream_.get()));
  }
  return Status();
}

StatusOr<std::vector<Node>> CudaPlan::inputNodes(const Step &step) const {
  std::vector<Node> nodes;
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (size_t bytes = step.inputs[i].bytes)
      nodes.push_back(
          {inWords("input ", i),
           CopyNode{staging_->onCard() + step.inputOffsets[i],
                    nodes_.addressOf(step.plan->inputs()->Get(i)), bytes},
           {}});
  if (staging_->bytes())
    nodes.push_back({"the record that inputs are taken",
                     RecordNode{staging_->taken()},
                     {{staging_->onCard(), staging_->bytes(), 1, true}}});
  return nodes;
}

std::vector<Node> CudaPlan::outputNodes(const Step &step) const {
  std::vector<Node> nodes;
  auto at = reinterpret_cast<DevicePointer>(outputsOf(step));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (size_t bytes = step.outputs[i].bytes)
      nodes.push_back(
          {inWords("output ", i),
           CopyNode{nodes_.addressOf(step.plan->outputs()->Get(i)), at, bytes},
           {}});
    at += aligned(step.outputs[i].bytes);
  }
  return nodes;
}

Status CudaPlan::sendTables() {
  const std::vector<int64_t> &tables = nodes_.tables();
  if (tables.empty())
    return Status();
  return tell(card_.driver().copyToDevice(memory_.addresses().tables,
                                          tables.data(), tables.size() * 8,
                                          stream_.get()),
              "sending tables of kernels");
}

size_t CudaPlan::launches(size_t graph) const {
  const Step &step = steps_[graph];
  return step.whole->nodes() + (step.leaving ? step.leaving->nodes() : 0);
}

std::string CudaPlan::chosen() const {
  std::string words;
  for (const std::string &line : nodes_.librariesInWords())
    append(words, words.empty() ? "" : "; ", line);
  return words;
}

//===-- running -----------------------------------------------------------===//

std::span<const HostPort> CudaPlan::inputs(size_t graph) {
  Step &step = steps_[graph];
  uint8_t *slot = staging_->lastSlot();
  onCard_.clear();
  // run() reports failures; the caller still needs an address to write to.
  inputsFailed_ = card_.makeCurrent();
  if (inputsFailed_.ok())
    inputsFailed_ = staging_->slot().status();
  for (size_t i = 0; i < step.inputs.size(); ++i)
    step.inputs[i].data =
        step.inputs[i].bytes ? slot + step.inputOffsets[i] : nullptr;
  return step.inputs;
}

Status CudaPlan::readFromDevice(size_t graph, const DeviceInput &input) {
  const Step &step = steps_[graph];
  size_t bytes = step.inputs[input.input].bytes;
  if (bytes)
    onCard_.push_back({reinterpret_cast<DevicePointer>(input.data),
                       step.inputOffsets[input.input], bytes,
                       static_cast<Stream>(input.stream)});
  return Status();
}

std::span<const HostPort> CudaPlan::outputs(size_t graph) {
  Step &step = steps_[graph];
  // Null if outputs are allocated late and the graph has not run.
  auto *block = static_cast<uint8_t *>(outputsOf(step));
  size_t offset = 0;
  for (HostPort &port : step.outputs) {
    port.data = block && port.bytes ? block + offset : nullptr;
    offset += aligned(port.bytes);
  }
  return step.outputs;
}

/// Allocates late outputs when the graph first runs.
Status CudaPlan::prepareOutputs(Step &step) {
  if (!step.hasLateOutputs || step.leaving)
    return Status();
  GRADUS_ASSIGN(step.lateOutputs,
                card_.allocatePinned({"outputs", bytesOf(step.outputs)}));
  step.parts.back() = outputNodes(step);
  GRADUS_ASSIGN(step.leaving,
                StepGraph::build(card_, step.parts.back(), Order::chain));
  return step.leaving->upload(stream_.get());
}

/// Starts a step, to which the old contents of the arena are meaningless.
Status CudaPlan::begin(Step &step) {
  GRADUS_TRY(card_.makeCurrent());
  GRADUS_TRY(inputsFailed_);
  GRADUS_TRY(prepareOutputs(step));
  const Driver &driver = card_.driver();
  DevicePointer arena = memory_.startOf(Region::arena);
  if (driver.discard && arena)
    GRADUS_TRY(tell(driver.discard(arena, plan_.arena_bytes(), stream_.get()),
                    "beginning a step"));
  return upload(step);
}

/// Starts the way of a step's inputs to the GPU.
Status CudaPlan::upload(const Step &step) {
  std::vector<InputOnCard> onCard = std::exchange(onCard_, {});
  auto inputs = size_t(
      std::count_if(step.inputs.begin(), step.inputs.end(),
                    [](const HostPort &port) { return port.bytes != 0; }));
  if (!inputs)
    return Status();
  return staging_->upload(stream_.get(), onCard, onCard.size() < inputs);
}

Status CudaPlan::run(size_t graph) {
  Step &step = steps_[graph];
  GRADUS_TRY(begin(step));
  GRADUS_TRY(step.whole->launch(stream_.get()));
  return step.leaving ? step.leaving->launch(stream_.get()) : Status();
}

Status CudaPlan::wait() {
  GRADUS_TRY(card_.makeCurrent());
  return tell(card_.driver().streamSynchronize(stream_.get()),
              "running a step on " + card_.name());
}

/// Builds the parts on first use, before anything is timed.
Status CudaPlan::buildParts(Step &step) {
  for (size_t part = 0; part < step.parts.size(); ++part)
    if (!step.parts[part].empty() && !step.stepwise[part]) {
      GRADUS_ASSIGN(step.stepwise[part],
                    StepGraph::build(card_, step.parts[part], Order::chain));
    }
  return Status();
}

Status CudaPlan::runPart(Step &step, size_t part) {
  const std::optional<StepGraph> &graph = step.stepwise[part];
  if (!graph)
    return Status();
  ProfilerRange range([&] {
    return part == 0 ? std::string("inputs")
           : part + 1 == step.parts.size()
               ? std::string("outputs")
               : profilerName(*step.plan->commands()->Get(part - 1));
  });
  return graph->launch(stream_.get());
}

Status CudaPlan::runStepwise(size_t graph, const Look &look) {
  Step &step = steps_[graph];
  GRADUS_TRY(begin(step));
  GRADUS_TRY(buildParts(step));
  for (size_t part = 0; part < step.parts.size(); ++part) {
    if (part > 0) {
      GRADUS_TRY(wait());
      GRADUS_TRY(look(part - 1));
    }
    GRADUS_TRY(runPart(step, part));
  }
  return wait();
}

Status CudaPlan::buildTimed(Step &step) {
  if (step.timed)
    return Status();
  std::vector<Node> all;
  step.ends.clear();
  for (const std::vector<Node> &part : step.parts) {
    all.insert(all.end(), part.begin(), part.end());
    GRADUS_ASSIGN(Owned<Event> end, card_.createEvent(/*timed=*/true));
    all.push_back({"the end of a command", RecordNode{end.get()}, {}});
    step.ends.push_back(std::move(end));
  }
  GRADUS_ASSIGN(step.timed, StepGraph::build(card_, all, Order::chain));
  return step.timed->upload(stream_.get());
}

/// Launches one graph, in which the GPU never waits for the host; for a
/// profiler launches each part alone, so that it gets a name.
Status CudaPlan::launchTimed(Step &step) {
  if (!profilerListens())
    return step.timed->launch(stream_.get());
  GRADUS_TRY(buildParts(step));
  for (size_t part = 0; part < step.parts.size(); ++part) {
    GRADUS_TRY(runPart(step, part));
    GRADUS_TRY(
        tell(card_.driver().eventRecord(step.ends[part].get(), stream_.get()),
             "taking times"));
  }
  return Status();
}

Status CudaPlan::runTimed(size_t graph, std::span<int64_t> nanoseconds) {
  Step &step = steps_[graph];
  GRADUS_TRY(begin(step));
  GRADUS_TRY(buildTimed(step));
  GRADUS_TRY(launchTimed(step));
  GRADUS_TRY(wait());
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    float milliseconds = 0;
    GRADUS_TRY(
        tell(card_.driver().eventElapsed(&milliseconds, step.ends[i].get(),
                                         step.ends[i + 1].get()),
             "taking times"));
    nanoseconds[i] += int64_t(double(milliseconds) * 1e6);
  }
  return Status();
}

//===-- reading and writing -----------------------------------------------===//

Status CudaPlan::read(Region region, uint64_t offset, std::span<uint8_t> to) {
  GRADUS_TRY(wait());
  if (to.empty())
    return Status();
  GRADUS_TRY(tell(card_.driver().copyToHost(to.data(),
                                            memory_.startOf(region) + offset,
                                            to.size(), stream_.get()),
                  "reading the memory of " + card_.name()));
  return wait();
}

Status CudaPlan::write(Region region, uint64_t offset,
                       std::span<const uint8_t> from) {
  GRADUS_TRY(wait());
  if (from.empty())
    return Status();
  GRADUS_TRY(
      tell(card_.driver().copyToDevice(memory_.startOf(region) + offset,
                                       from.data(), from.size(), stream_.get()),
           "writing to the memory of " + card_.name()));
  return wait();
}

} // namespace gradus::runtime::cuda
