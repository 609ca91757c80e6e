// Makes a plan ready: memory, addresses of buffers, commands; then runs it.

#include "runtime/loaded_plan.h"

#include "runtime/flat.h"
#include "runtime/status.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace gradus::runtime {

namespace {

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

//===-- ports -------------------------------------------------------------===//

std::vector<PortMemory>
portsOf(const std::vector<uint8_t *> &buffers,
        const flatbuffers::Vector<uint32_t> *numbers,
        const flatbuffers::Vector<flatbuffers::Offset<artifact::Port>> *ports) {
  std::vector<PortMemory> memory;
  for (size_t i = 0; i < countOf(ports); ++i)
    memory.push_back(
        {buffers[numbers->Get(i)], *bytesOf(typeOf(ports->Get(i)->type()))});
  return memory;
}

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

} // namespace

//===-- loading -----------------------------------------------------------===//

StatusOr<std::unique_ptr<LoadedPlan>>
LoadedPlan::load(std::shared_ptr<const Artifact> artifact,
                 const artifact::Plan &plan, int threads, bool deterministic) {
  int used = canUseThreads(plan) ? threads : 1;
  std::unique_ptr<LoadedPlan> loaded(
      new LoadedPlan(std::move(artifact), plan, used));
  if (int failure = loaded->pool_.failure())
    return Status(StatusCode::failed,
                  inWords("cannot start thread ", loaded->threads() + 1, " of ",
                          used, ": ", std::strerror(failure)));
  GRADUS_TRY(loaded->allocate());
  GRADUS_TRY(loaded->prepare(deterministic));
  return loaded;
}

Status LoadedPlan::allocate() {
  GRADUS_ASSIGN(state_, MemoryBlock::allocate(plan_.state_bytes(), "state"));
  GRADUS_ASSIGN(arena_, MemoryBlock::allocate(plan_.arena_bytes(), "arena"));
  GRADUS_ASSIGN(code_, loadCode(artifact_->bytes(plan_.code())));
  return Status();
}

std::vector<uint8_t *> LoadedPlan::bufferAddresses() const {
  auto constants = artifact_->bytes(artifact_->header().constants());
  // Verification has seen that no command writes to a constant.
  uint8_t *starts[] = {state_.data(), arena_.data(),
                       const_cast<uint8_t *>(constants.data())};
  std::vector<uint8_t *> addresses;
  for (size_t i = 0; i < countOf(plan_.buffers()); ++i) {
    const artifact::Buffer *buffer = plan_.buffers()->Get(i);
    uint8_t *start = starts[static_cast<size_t>(buffer->region())];
    addresses.push_back(start ? start + buffer->offset()
                              : nullptr); // null: no bytes
  }
  return addresses;
}

Status LoadedPlan::prepare(bool deterministic) {
  CommandContext context{plan_,        artifact_->kernels(plan_),
                         code_.data(), bufferAddresses(),
                         pool_,        deterministic};
  graphs_.resize(countOf(artifact_->header().graphs()));
  for (size_t i = 0; i < countOf(plan_.graphs()); ++i)
    GRADUS_TRY(prepareGraph(context, *plan_.graphs()->Get(i)));
  return addExtraScratch();
}

Status LoadedPlan::prepareGraph(const CommandContext &context,
                                const artifact::GraphPlan &plan) {
  const artifact::Graph *graph =
      artifact_->header().graphs()->Get(plan.graph());
  LoadedGraph &loaded = graphs_[plan.graph()];
  loaded.plan = &plan;
  loaded.inputs = portsOf(context.buffers, plan.inputs(), graph->inputs());
  loaded.outputs = portsOf(context.buffers, plan.outputs(), graph->outputs());
  for (size_t i = 0; i < countOf(plan.commands()); ++i) {
    auto command = prepareCommand(context, *plan.commands()->Get(i));
    GRADUS_TRY(failure(plan.graph(), i, command.status()));
    loaded.commands.push_back(*std::move(command));
  }
  return Status();
}

Status LoadedPlan::addExtraScratch() {
  size_t most = 0;
  for (const LoadedGraph &graph : graphs_)
    for (const auto &command : graph.commands)
      most = std::max(most, command->extraScratch());
  if (most == 0)
    return Status();
  GRADUS_ASSIGN(extra_, MemoryBlock::allocate(most, "library scratch"));
  for (const LoadedGraph &graph : graphs_)
    for (const auto &command : graph.commands)
      GRADUS_TRY(command->setExtraScratch(extra_.data()));
  return Status();
}

//===-- running -----------------------------------------------------------===//

Status LoadedPlan::failure(size_t graph, size_t command,
                           const Status &status) const {
  if (status.ok())
    return status;
  const artifact::Command *facts =
      graphs_[graph].plan->commands()->Get(command);
  return at(status, "graph ",
            textOf(artifact_->header().graphs()->Get(graph)->name()),
            ": command ", command, " (", textOf(facts->name()), ")");
}

Status LoadedPlan::runCommand(size_t graph, size_t command) {
  return failure(graph, command, graphs_[graph].commands[command]->run());
}

Status LoadedPlan::run(size_t graph, std::span<int64_t> nanoseconds) {
  auto &commands = graphs_[graph].commands;
  int64_t before = nanoseconds.empty() ? 0 : now();
  for (size_t i = 0; i < commands.size(); ++i) {
    if (Status status = commands[i]->run(); !status.ok())
      return failure(graph, i, status);
    if (nanoseconds.empty())
      continue;
    int64_t after = now();
    nanoseconds[i] += after - before;
    before = after;
  }
  return Status();
}

} // namespace gradus::runtime
