// A plan: its memory, its kernels, and what each graph runs in it.

#include "runtime/flat.h"
#include "runtime/status.h"
#include "runtime/verify.h"

#include <algorithm>
#include <vector>

namespace gradus::runtime {

namespace {

constexpr uint64_t kAlignment = 64;

/// What a plan may spend on alignment beyond what its tensors need.
constexpr uint64_t kSlack = 2 << 20;

uint64_t sizeOf(const artifact::Section *section) {
  return section ? section->size() : 0;
}

bool liesWithin(uint64_t offset, uint64_t size, uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

//===-- memory ------------------------------------------------------------===//

uint64_t regionSize(const artifact::Header &header, const artifact::Plan &plan,
                    artifact::Region region) {
  switch (region) {
  case artifact::Region::state:
    return plan.state_bytes();
  case artifact::Region::arena:
    return plan.arena_bytes();
  case artifact::Region::constants:
    return sizeOf(header.constants());
  }
  return 0;
}

Status verifyBufferRange(const artifact::Header &header,
                         const artifact::Plan &plan,
                         const artifact::Buffer &buffer) {
  if (buffer.region() > artifact::Region::MAX)
    return invalid("lies in region ", static_cast<int>(buffer.region()),
                   ", which is unknown");
  if (buffer.offset() % kAlignment != 0)
    return invalid("starts at ", buffer.offset(), ", not a multiple of ",
                   kAlignment);
  uint64_t whole = regionSize(header, plan, buffer.region());
  if (!liesWithin(buffer.offset(), buffer.size(), whole))
    return invalid("its ", buffer.size(), " bytes at ", buffer.offset(),
                   " lie outside its region of ", whole, " bytes");
  if (!buffer.type())
    return Status();
  if (!areAligned(buffer.type()->shape()))
    return invalid("has a shape that is not aligned");
  if (buffer.type()->dtype() > artifact::DType::MAX)
    return invalid("has dtype ", static_cast<int>(buffer.type()->dtype()),
                   ", which is unknown");
  auto bytes = bytesOf(typeOf(buffer.type()));
  if (!bytes || *bytes > buffer.size())
    return invalid("has ", buffer.size(), " bytes, too few for ",
                   toString(typeOf(buffer.type())));
  return Status();
}

Status verifyBuffers(const artifact::Header &header,
                     const artifact::Plan &plan) {
  uint64_t end = 0;
  for (size_t i = 0; i < countOf(plan.buffers()); ++i) {
    const artifact::Buffer *buffer = plan.buffers()->Get(i);
    GRADUS_TRY(at(verifyBufferRange(header, plan, *buffer), "buffer ", i));
    if (buffer->region() == artifact::Region::arena)
      end = std::max(end, buffer->offset() + buffer->size());
  }
  if (plan.arena_bytes() > end + kSlack)
    return invalid("asks for an arena of ", plan.arena_bytes(),
                   " bytes and uses ", end);
  return Status();
}

struct StateRange {
  uint64_t offset, size;
  size_t state;
};

Status verifyNoOverlap(const artifact::Header &header,
                       std::vector<StateRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const auto &one, const auto &other) {
              return std::pair(one.offset, one.size) <
                     std::pair(other.offset, other.size);
            });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i - 1].offset + ranges[i - 1].size > ranges[i].offset)
      return invalid(
          "states ", textOf(header.states()->Get(ranges[i - 1].state)->name()),
          " and ", textOf(header.states()->Get(ranges[i].state)->name()),
          " overlap");
  return Status();
}

Status verifyStates(const artifact::Header &header,
                    const artifact::Plan &plan) {
  size_t count = countOf(header.states());
  if (!areAligned(plan.state_offsets()))
    return invalid("has offsets of states that are not aligned");
  if (countOf(plan.state_offsets()) != count)
    return invalid("places ", countOf(plan.state_offsets()), " of ", count,
                   " states");
  std::vector<StateRange> ranges;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t offset = plan.state_offsets()->Get(i);
    uint64_t size = *bytesOf(typeOf(header.states()->Get(i)->type()));
    if (offset % kAlignment != 0 ||
        !liesWithin(offset, size, plan.state_bytes()))
      return invalid("state ", textOf(header.states()->Get(i)->name()),
                     ": its ", size, " bytes at ", offset,
                     " are not aligned, or lie outside the ",
                     plan.state_bytes(), " bytes of state");
    ranges.push_back({offset, size, i});
    sum += size + kSlack;
  }
  if (plan.state_bytes() > sum + kSlack)
    return invalid("asks for ", plan.state_bytes(),
                   " bytes of state and has at most ", sum);
  return verifyNoOverlap(header, std::move(ranges));
}

//===-- kernels -----------------------------------------------------------===//

Status verifyKernel(const artifact::KernelSignature &kernel, uint64_t code) {
  if (kernel.entry() >= code)
    return invalid("starts at ", kernel.entry(), ", outside the code of ", code,
                   " bytes");
  if (!areAligned(kernel.fixed_bytes(), kernel.bytes_per_item()))
    return invalid("has sizes that are not aligned");
  size_t arguments = countOf(kernel.fixed_bytes());
  if (countOf(kernel.bytes_per_item()) != arguments ||
      kernel.outputs() > arguments)
    return invalid("has ", arguments, " arguments, ",
                   countOf(kernel.bytes_per_item()), " sizes per item and ",
                   kernel.outputs(), " outputs");
  if (kernel.max_items() < 0)
    return invalid("takes at most ", kernel.max_items(), " items");
  bool grows = false;
  for (size_t i = 0; i < arguments; ++i)
    grows |= kernel.bytes_per_item()->Get(i) > 0;
  if (!grows && kernel.max_items() == 0)
    return invalid("says neither bytes per item nor how many items it takes");
  return Status();
}

Status verifyKernels(const artifact::Plan &plan,
                     const artifact::CodeHeader *kernels) {
  if (sizeOf(plan.kernels()) > 0 && !kernels)
    return invalid("its list of kernels is not a well-formed FlatBuffer");
  for (size_t i = 0; kernels && i < countOf(kernels->kernels()); ++i) {
    const artifact::KernelSignature *kernel = kernels->kernels()->Get(i);
    GRADUS_TRY(at(verifyKernel(*kernel, sizeOf(plan.code())), "kernel ", i,
                  " (", textOf(kernel->name()), ")"));
  }
  return Status();
}

//===-- graphs ------------------------------------------------------------===//

using Ports = flatbuffers::Vector<flatbuffers::Offset<artifact::Port>>;

Status verifyPortBuffer(const artifact::Plan &plan, uint32_t number,
                        const artifact::Port &port, bool isInput) {
  GRADUS_TRY(verifyBuffer(plan, number, isInput));
  const artifact::Buffer *buffer = plan.buffers()->Get(number);
  if (isInput && buffer->region() != artifact::Region::arena)
    return invalid("does not lie in the arena");
  uint64_t bytes = *bytesOf(typeOf(port.type()));
  if (buffer->size() < bytes)
    return invalid("its buffer has ", buffer->size(), " bytes, too few for ",
                   toString(typeOf(port.type())));
  return Status();
}

Status verifyPortBuffers(const artifact::Plan &plan,
                         const flatbuffers::Vector<uint32_t> *buffers,
                         const Ports *ports, bool isInput) {
  const char *kind = isInput ? "input" : "output";
  if (countOf(buffers) != countOf(ports))
    return invalid("has buffers for ", countOf(buffers), " of ", countOf(ports),
                   " ", kind, "s");
  for (size_t i = 0; i < countOf(ports); ++i)
    GRADUS_TRY(
        at(verifyPortBuffer(plan, buffers->Get(i), *ports->Get(i), isInput),
           kind, " ", textOf(ports->Get(i)->name())));
  return Status();
}

Status verifyGraphPlan(const artifact::Header &header,
                       const artifact::Plan &plan,
                       const artifact::CodeHeader *kernels,
                       const artifact::GraphPlan &graphPlan) {
  const artifact::Graph *graph = header.graphs()->Get(graphPlan.graph());
  GRADUS_TRY(
      verifyPortBuffers(plan, graphPlan.inputs(), graph->inputs(), true));
  GRADUS_TRY(
      verifyPortBuffers(plan, graphPlan.outputs(), graph->outputs(), false));
  for (size_t i = 0; i < countOf(graphPlan.commands()); ++i) {
    const artifact::Command *command = graphPlan.commands()->Get(i);
    GRADUS_TRY(at(verifyCommand(plan, kernels, *command), "command ", i, " (",
                  textOf(command->name()), ")"));
  }
  return Status();
}

Status verifyGraphPlans(const artifact::Header &header,
                        const artifact::Plan &plan,
                        const artifact::CodeHeader *kernels) {
  std::vector<bool> seen(countOf(header.graphs()));
  for (size_t i = 0; i < countOf(plan.graphs()); ++i) {
    const artifact::GraphPlan *graphPlan = plan.graphs()->Get(i);
    uint32_t graph = graphPlan->graph();
    if (graph >= seen.size() || seen[graph])
      return invalid("plans graph ", graph, " twice, or there are only ",
                     seen.size());
    seen[graph] = true;
    GRADUS_TRY(at(verifyGraphPlan(header, plan, kernels, *graphPlan), "graph ",
                  textOf(header.graphs()->Get(graph)->name())));
  }
  for (size_t graph = 0; graph < seen.size(); ++graph)
    if (!seen[graph])
      return invalid("does not plan graph ",
                     textOf(header.graphs()->Get(graph)->name()));
  return Status();
}

} // namespace

const artifact::CodeHeader *kernelsOf(std::span<const uint8_t> file,
                                      const artifact::Plan &plan) {
  if (sizeOf(plan.kernels()) == 0)
    return nullptr;
  auto bytes = file.subspan(plan.kernels()->offset(), plan.kernels()->size());
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (bytes.size() < 8 || !verifier.VerifyBuffer<artifact::CodeHeader>(nullptr))
    return nullptr;
  return flatbuffers::GetRoot<artifact::CodeHeader>(bytes.data());
}

Status verifyBuffer(const artifact::Plan &plan, uint32_t number, bool written) {
  if (number >= countOf(plan.buffers()))
    return invalid("names buffer ", number, " of ", countOf(plan.buffers()));
  if (written &&
      plan.buffers()->Get(number)->region() == artifact::Region::constants)
    return invalid("would write to buffer ", number, ", which is a constant");
  return Status();
}

Status verifyPlan(const artifact::Header &header, const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels) {
  GRADUS_TRY(verifyBuffers(header, plan));
  GRADUS_TRY(verifyStates(header, plan));
  GRADUS_TRY(verifyKernels(plan, kernels));
  return verifyGraphPlans(header, plan, kernels);
}

} // namespace gradus::runtime
