// Prepares a plan on the CPU (memory, addresses of buffers, commands) and runs
// it.

#include "runtime/cpu/cpu_device.h"

#include "runtime/artifact/command.h"
#include "runtime/cpu/command.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device/profiler.h"
#include "runtime/flat.h"
#include "runtime/float_mode.h"
#include "runtime/memory.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace gradus::runtime {

namespace {

using artifact::Region;

//===-- threads -----------------------------------------------------------===//

bool canUseThreads(const artifact::Command &command) {
  if (command.kind_type() == artifact::CommandKind::LibraryCommand)
    return true;
  const artifact::KernelCommand *kernel = command.kind_as_KernelCommand();
  if (!kernel)
    return false;
  for (size_t i = 0; i < countOf(kernel->segments()); ++i)
    if (countOf(kernel->segments()) > 1 ||
        kernel->segments()->Get(i)->items() > kernel->grain())
      return true;
  return false;
}

/// A plan of serial commands gets no threads: a tiny step must not wake any.
bool canUseThreads(const artifact::Plan &plan) {
  for (size_t i = 0; i < countOf(plan.graphs()); ++i) {
    const artifact::GraphPlan *graph = plan.graphs()->Get(i);
    for (size_t k = 0; k < countOf(graph->commands()); ++k)
      if (canUseThreads(*graph->commands()->Get(k)))
        return true;
  }
  return false;
}

int threadsFor(const artifact::Plan &plan, const LoadOptions &options) {
  if (!canUseThreads(plan))
    return 1;
  return options.threads ? options.threads : availableCores();
}

//===-- ports -------------------------------------------------------------===//

std::vector<HostPort>
portsOf(const std::vector<uint8_t *> &buffers,
        const flatbuffers::Vector<uint32_t> *numbers,
        const flatbuffers::Vector<flatbuffers::Offset<artifact::Port>> *ports) {
  std::vector<HostPort> memory;
  memory.reserve(countOf(ports));
  for (size_t i = 0; i < countOf(ports); ++i)
    memory.push_back(
        {buffers[numbers->Get(i)], *bytesOf(typeOf(ports->Get(i)->type()))});
  return memory;
}

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

//===-- a plan ------------------------------------------------------------===//

struct CpuGraph {
  std::vector<HostPort> inputs, outputs; // in the arena itself
  std::vector<std::unique_ptr<Command>> commands;
  const artifact::GraphPlan *plan = nullptr;
  bool hasRun = false;
};

class CpuPlan : public DevicePlan {
public:
  CpuPlan(const Artifact &artifact, const artifact::Plan &plan, int threads)
      : artifact_(artifact), plan_(plan), pool_(threads) {}

  /// Sums that were given up may still be under way in the arena.
  ~CpuPlan() override {
    if (sums_)
      sums_->keep(std::make_shared<MemoryBlock>(std::move(arena_)));
  }

  /// Called once, before anything else.
  Status load(int threads, const LoadOptions &options);

  std::string name() const override {
    return inWords(threads(), threads() == 1 ? " thread" : " threads");
  }
  int threads() const override { return pool_.threads(); }
  size_t extraBytes() const override { return extra_.size(); }

  std::span<const HostPort> inputs(size_t graph) override {
    return graphs_[graph].inputs;
  }
  std::span<const HostPort> outputs(size_t graph) override {
    return graphs_[graph].outputs;
  }
  Status run(size_t graph) override;
  Status runTimed(size_t graph, std::span<int64_t> nanoseconds) override;
  Status runStepwise(size_t graph, const Look &look) override;

  Status read(Region region, uint64_t offset, std::span<uint8_t> to) override;
  Status write(Region region, uint64_t offset,
               std::span<const uint8_t> from) override;
  const uint8_t *memory(Region region) const override;
  uint64_t offsetOf(const artifact::Buffer &buffer) const override;

private:
  Status allocate();
  std::vector<uint8_t *> bufferAddresses() const;
  Status prepareGraph(const CommandContext &context,
                      const artifact::GraphPlan &graph);
  Status addExtraScratch();
  Status runAll(const CpuGraph &ran);
  Status runAllTimed(const CpuGraph &ran, std::span<int64_t> nanoseconds);
  Status runEach(const CpuGraph &ran, const Look &look);
  /// Lets the other ranks know of a step that failed while sums are open. The
  /// first whole step of a graph has touched all memory that later ones use.
  Status ended(CpuGraph &ran, Status status) {
    if (!status.ok() && sums_)
      sums_->giveUp(status);
    if (status.ok() && !std::exchange(ran.hasRun, true))
      for (MemoryBlock *block : {&state_, &arena_, &extra_})
        block->gather();
    return status;
  }
  Status failure(const CpuGraph &graph, size_t command,
                 const Status &status) const {
    return atCommand(status, artifact_.header(), *graph.plan, command);
  }

  static std::string nameOf(const CpuGraph &graph, size_t command) {
    return profilerName(*graph.plan->commands()->Get(command));
  }

  const Artifact &artifact_;
  const artifact::Plan &plan_;
  ThreadPool pool_;
  std::unique_ptr<OpenSums> sums_; // null: one rank alone
  int rank_ = 0;
  MemoryBlock state_, arena_, code_, extra_;
  std::vector<CpuGraph> graphs_; // numbered as in the header
};

//===-- loading -----------------------------------------------------------===//

Status CpuPlan::load(int threads, const LoadOptions &options) {
  if (int failure = pool_.failure())
    return failed("cannot start thread ", pool_.threads() + 1, " of ", threads,
                  ": ", std::strerror(failure), "; ask for fewer threads");
  GRADUS_TRY(allocate());
  if (options.collectives) {
    sums_ = std::make_unique<OpenSums>(options.collectives);
    rank_ = options.collectives->rank();
  }
  CommandContext context{
      plan_, artifact_.kernels(plan_), code_.data(), bufferAddresses(),
      pool_, options.deterministic,    sums_.get()};
  graphs_.resize(countOf(artifact_.header().graphs()));
  for (size_t i = 0; i < countOf(plan_.graphs()); ++i)
    GRADUS_TRY(prepareGraph(context, *plan_.graphs()->Get(i)));
  return addExtraScratch();
}

Status CpuPlan::allocate() {
  GRADUS_ASSIGN(state_, MemoryBlock::allocate(plan_.state_bytes(), "state"));
  GRADUS_ASSIGN(arena_, MemoryBlock::allocate(plan_.arena_bytes(), "arena"));
  GRADUS_ASSIGN(code_, loadCode(artifact_.bytes(plan_.code())));
  return Status();
}

const uint8_t *CpuPlan::memory(Region region) const {
  switch (region) {
  case Region::state:
    return state_.data();
  case Region::arena:
    return arena_.data();
  case Region::constants:
    return artifact_.bytes(artifact_.header().constants()).data();
  }
  return nullptr;
}

/// A rank that the plan is not for has the parts of the first one.
uint64_t CpuPlan::offsetOf(const artifact::Buffer &buffer) const {
  if (buffer.rank_stride() == 0)
    return buffer.offset();
  uint64_t rank = rank_ < artifact_.header().ranks() ? uint64_t(rank_) : 0;
  return buffer.offset() +
         std::min(rank, buffer.parts() - 1) * buffer.rank_stride();
}

/// The address of each buffer of the plan; null if it has no bytes.
std::vector<uint8_t *> CpuPlan::bufferAddresses() const {
  std::vector<uint8_t *> addresses;
  for (size_t i = 0; i < countOf(plan_.buffers()); ++i) {
    const artifact::Buffer *buffer = plan_.buffers()->Get(i);
    // Verification has checked that no command writes to a constant.
    auto *start = const_cast<uint8_t *>(memory(buffer->region()));
    addresses.push_back(start ? start + offsetOf(*buffer) : nullptr);
  }
  return addresses;
}

Status CpuPlan::prepareGraph(const CommandContext &context,
                             const artifact::GraphPlan &plan) {
  const artifact::Graph *graph = artifact_.header().graphs()->Get(plan.graph());
  CpuGraph &loaded = graphs_[plan.graph()];
  loaded.plan = &plan;
  loaded.inputs = portsOf(context.buffers, plan.inputs(), graph->inputs());
  loaded.outputs = portsOf(context.buffers, plan.outputs(), graph->outputs());
  for (size_t i = 0; i < countOf(plan.commands()); ++i) {
    auto command = prepareCommand(context, *plan.commands()->Get(i));
    GRADUS_TRY(failure(loaded, i, command.status()));
    loaded.commands.push_back(*std::move(command));
  }
  return Status();
}

Status CpuPlan::addExtraScratch() {
  size_t most = 0;
  for (const CpuGraph &graph : graphs_)
    for (const auto &command : graph.commands)
      most = std::max(most, command->extraScratch());
  if (most == 0)
    return Status();
  GRADUS_ASSIGN(extra_, MemoryBlock::allocate(most, "library scratch"));
  for (const CpuGraph &graph : graphs_)
    for (const auto &command : graph.commands)
      GRADUS_TRY(command->setExtraScratch(extra_.data()));
  return Status();
}

//===-- running -----------------------------------------------------------===//

Status CpuPlan::run(size_t graph) {
  CpuGraph &ran = graphs_[graph];
  return ended(ran, runAll(ran));
}

Status CpuPlan::runAll(const CpuGraph &ran) {
  FlushDenormals flush;
  for (size_t i = 0; i < ran.commands.size(); ++i)
    if (Status status = ran.commands[i]->run(); !status.ok())
      return failure(ran, i, status);
  return Status();
}

Status CpuPlan::runTimed(size_t graph, std::span<int64_t> nanoseconds) {
  CpuGraph &ran = graphs_[graph];
  return ended(ran, runAllTimed(ran, nanoseconds));
}

Status CpuPlan::runAllTimed(const CpuGraph &ran,
                            std::span<int64_t> nanoseconds) {
  FlushDenormals flush;
  int64_t before = now();
  for (size_t i = 0; i < ran.commands.size(); ++i) {
    ProfilerRange range([&] { return nameOf(ran, i); });
    if (Status status = ran.commands[i]->run(); !status.ok())
      return failure(ran, i, status);
    int64_t after = now();
    nanoseconds[i] += after - before;
    before = after;
  }
  return Status();
}

Status CpuPlan::runStepwise(size_t graph, const Look &look) {
  CpuGraph &ran = graphs_[graph];
  return ended(ran, runEach(ran, look));
}

Status CpuPlan::runEach(const CpuGraph &ran, const Look &look) {
  for (size_t i = 0; i < ran.commands.size(); ++i) {
    GRADUS_TRY(look(i));
    ProfilerRange range([&] { return nameOf(ran, i); });
    FlushDenormals flush;
    GRADUS_TRY(failure(ran, i, ran.commands[i]->run()));
  }
  return look(ran.commands.size());
}

Status CpuPlan::read(Region region, uint64_t offset, std::span<uint8_t> to) {
  if (!to.empty())
    std::memcpy(to.data(), memory(region) + offset, to.size());
  return Status();
}

Status CpuPlan::write(Region region, uint64_t offset,
                      std::span<const uint8_t> from) {
  MemoryBlock &block = region == Region::state ? state_ : arena_;
  if (!from.empty())
    std::memcpy(block.data() + offset, from.data(), from.size());
  return Status();
}

} // namespace

//===-- the device --------------------------------------------------------===//

std::string CpuDevice::refusal(const artifact::Plan &plan) const {
  std::string missing = missingFeatures(plan.features());
  return missing.empty() ? "" : "needs " + missing;
}

StatusOr<std::unique_ptr<DevicePlan>>
CpuDevice::load(const Artifact &artifact, const artifact::Plan &plan,
                const LoadOptions &options) {
  int threads = threadsFor(plan, options);
  auto loaded = std::make_unique<CpuPlan>(artifact, plan, threads);
  GRADUS_TRY(loaded->load(threads, options));
  return std::unique_ptr<DevicePlan>(std::move(loaded));
}

} // namespace gradus::runtime
