// A launch accesses, in each buffer of a segment, the bytes that the kernel's
// signature gives for the number of items.

#include "runtime/cuda/step_nodes.h"

#include "runtime/artifact/buffer_use.h"
#include "runtime/artifact/command.h"

#include <algorithm>

namespace gradus::runtime::cuda {

namespace {

using artifact::CommandKind;

uint64_t scratchOf(const KernelFacts &facts) {
  uint64_t bytes = 0;
  for (uint64_t each : facts.scratch)
    bytes += aligned(each);
  return bytes;
}

/// The bytes of a row: first piece, items, the addresses.
uint64_t rowBytes(const artifact::Segment &segment) {
  return 8 * (2 + countOf(segment.buffers()));
}

template <typename Visit>
void forEachKernel(const artifact::Plan &plan, Visit visit) {
  for (size_t g = 0; g < countOf(plan.graphs()); ++g) {
    const auto *commands = plan.graphs()->Get(g)->commands();
    for (size_t c = 0; c < countOf(commands); ++c)
      if (const auto *kernel = commands->Get(c)->kind_as_KernelCommand())
        visit(*kernel);
  }
}

} // namespace

StepExtras StepNodes::extras() const {
  StepExtras extras;
  forEachKernel(plan_, [&](const artifact::KernelCommand &command) {
    const KernelFacts &facts = kernels_[command.kernel()];
    extras.scratchBytes = std::max(extras.scratchBytes, scratchOf(facts));
    for (size_t i = 0; facts.piece && i < countOf(command.segments()); ++i)
      extras.tableBytes += rowBytes(*command.segments()->Get(i));
  });
  for (uint32_t kernel : library_.epilogueKernels())
    extras.scratchBytes =
        std::max(extras.scratchBytes, scratchOf(kernels_[kernel]));
  extras.libraryBytes = library_.scratchBytes();
  extras.onesBytes = library_.onesBytes();
  extras.productBytes = library_.productBytes();
  return extras;
}

//===-- buffers -----------------------------------------------------------===//

DevicePointer StepNodes::addressOf(uint32_t buffer) const {
  return memory_.addressOf(*plan_.buffers()->Get(buffer));
}

Access StepNodes::accessTo(uint32_t buffer, bool writes) const {
  TensorType type = typeOf(plan_.buffers()->Get(buffer)->type());
  return {addressOf(buffer), bytesOf(type).value_or(0),
          uint32_t(bytesOf(type.dtype)), writes};
}

//===-- kernels -----------------------------------------------------------===//

/// As many blocks as are resident at once, but no more than there is work for:
/// blocks share the work evenly, so a block that started after others have
/// ended would keep the GPU waiting.
static uint32_t blocksFor(const KernelFacts &facts, uint64_t most) {
  return uint32_t(std::clamp<uint64_t>(most, 1, facts.residentBlocks));
}

static void addAccess(Access access, ArgumentUse use, Node &node) {
  for (bool writes : {false, true}) {
    access.writes = writes;
    if (access.bytes && (writes ? use.isWritten : use.isRead))
      node.accesses.push_back(access);
  }
}

Node StepNodes::kernelNode(const artifact::KernelCommand &command) {
  const KernelFacts &facts = kernels_[command.kernel()];
  const auto *signature = header_.kernels()->Get(command.kernel());
  Node node;
  KernelNode work;
  work.function = facts.function;
  work.threads = facts.threads;
  for (size_t s = 0; s < countOf(command.segments()); ++s) {
    const artifact::Segment *segment = command.segments()->Get(s);
    for (size_t a = 0; a < countOf(segment->buffers()); ++a) {
      BufferUse use = useOf(*signature, *segment, a);
      Access access = accessTo(use.buffer, false);
      access.bytes = use.bytes;
      addAccess(access, {use.isRead, use.isWritten}, node);
      if (!facts.piece)
        work.arguments.push_back(access.start);
    }
  }
  if (facts.piece)
    addRows(command, work);
  else
    work.blocks = blocksFor(facts, facts.mostBlocks);
  if (facts.piece)
    node.accesses.push_back(
        {work.arguments[0],
         memory_.tables + 8 * tables_.size() - work.arguments[0], 8, false});
  node.work = std::move(work);
  addScratch(facts, node);
  return node;
}

Node StepNodes::epilogueNode(const EpilogueLaunch &launch) const {
  const KernelFacts &facts = kernels_[launch.kernel];
  const auto *signature = header_.kernels()->Get(launch.kernel);
  Node node;
  KernelNode work;
  work.function = facts.function;
  work.threads = facts.threads;
  work.blocks = blocksFor(facts, facts.mostBlocks);
  work.arguments = launch.arguments;
  for (size_t a = 0; a < launch.arguments.size(); ++a)
    addAccess({launch.arguments[a], signature->fixed_bytes()->Get(unsigned(a)),
               launch.elementBytes[a], false},
              useOf(*signature, a), node);
  node.work = std::move(work);
  addScratch(facts, node);
  return node;
}

/// Adds a row for each segment that has items.
void StepNodes::addRows(const artifact::KernelCommand &command,
                        KernelNode &node) {
  const KernelFacts &facts = kernels_[command.kernel()];
  DevicePointer table = memory_.tables + 8 * tables_.size();
  uint64_t rows = 0, pieces = 0;
  for (size_t s = 0; s < countOf(command.segments()); ++s) {
    const artifact::Segment *segment = command.segments()->Get(s);
    if (segment->items() == 0)
      continue;
    tables_.push_back(int64_t(pieces));
    tables_.push_back(segment->items());
    for (size_t a = 0; a < countOf(segment->buffers()); ++a)
      tables_.push_back(int64_t(addressOf(segment->buffers()->Get(a))));
    pieces += (uint64_t(segment->items()) - 1) / facts.piece + 1;
    ++rows;
  }
  node.arguments = {table, rows, pieces};
  node.blocks = blocksFor(facts, pieces);
}

void StepNodes::addScratch(const KernelFacts &facts, Node &node) const {
  DevicePointer at = memory_.scratch;
  for (uint64_t bytes : facts.scratch) {
    std::get<KernelNode>(node.work).arguments.push_back(at);
    node.accesses.push_back({at, bytes, 1, true});
    at += aligned(bytes);
  }
}

//===-- all commands ------------------------------------------------------===//

Status StepNodes::addNodes(const artifact::KernelCommand &command,
                           std::vector<Node> &nodes) {
  size_t segments = countOf(command.segments());
  bool isFlat = kernels_[command.kernel()].piece != 0;
  if (!isFlat && segments != 1)
    return invalid("runs a kernel of one segment on ", segments);
  Node node = kernelNode(command);
  bool isEmpty = isFlat && std::get<KernelNode>(node.work).arguments[1] == 0;
  if (!isEmpty)
    nodes.push_back(std::move(node));
  return Status();
}

Status StepNodes::addNodes(const artifact::LibraryCommand &command,
                           std::vector<Node> &nodes) {
  nodes = library_.nodesOf(command, memory_);
  if (auto launch = library_.epilogueOf(command, memory_))
    nodes.push_back(epilogueNode(*launch));
  return Status();
}

Status StepNodes::addNodes(const artifact::CopyCommand &command,
                           std::vector<Node> &nodes) {
  uint64_t bytes = plan_.buffers()->Get(command.source())->size();
  DevicePointer from = addressOf(command.source()),
                to = addressOf(command.destination());
  if (bytes && from != to)
    nodes.push_back({"", CopyNode{from, to, bytes}, {}});
  return Status();
}

Status StepNodes::addNodes(const artifact::StartCommand &,
                           std::vector<Node> &) {
  return invalid("sums over ranks, which GPUs cannot do yet: compile without "
                 "the recipe's distribution.mode, or for a CPU");
}

Status StepNodes::addNodes(const artifact::FinishCommand &,
                           std::vector<Node> &) {
  return Status(); // Its start has been refused.
}

Status StepNodes::addNodes(const artifact::SelectCommand &,
                           std::vector<Node> &) {
  return invalid(
      "selects the largest elements, which GPUs cannot do yet: "
      "compile with another distribution.reduce than \"sparse_topk\" "
      "and \"sparse_threshold\", or for a CPU");
}

StatusOr<std::vector<Node>> StepNodes::nodesOf(const artifact::GraphPlan &graph,
                                               size_t command) {
  const artifact::Command &facts = *graph.commands()->Get(command);
  std::vector<Node> nodes;
  GRADUS_TRY(visitCommand(
      facts, [] { return Status(); },
      [&](const auto &kind) { return addNodes(kind, nodes); }));
  for (Node &node : nodes)
    node.name = inWords("command ", command, " (", textOf(facts.name()), ")");
  return nodes;
}

} // namespace gradus::runtime::cuda
