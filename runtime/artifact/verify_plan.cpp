// Verifies a plan: its memory, its kernels, and the commands of each graph.

#include "runtime/artifact/command_uses.h"
#include "runtime/artifact/verify.h"
#include "runtime/flat.h"
#include "runtime/status.h"

#include <algorithm>
#include <vector>

namespace gradus::runtime {

namespace {

constexpr uint64_t kAlignment = 64;

/// The maximum scratch of a kernel on a GPU, all blocks together: far more than
/// any has.
constexpr uint64_t kMostScratch = uint64_t{1} << 40;

/// The maximum that a plan may spend on alignment beyond what its tensors need.
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

/// Verifies that all parts lie in the region.
Status verifyParts(const artifact::Header &header,
                   const artifact::Buffer &buffer, uint64_t region) {
  uint64_t stride = buffer.rank_stride();
  if (stride == 0)
    return Status();
  if (header.ranks() < 1)
    return invalid("has parts of ranks, whose number the file does not say");
  if (stride % kAlignment != 0)
    return invalid("has parts ", stride,
                   " bytes from each other, not a multiple of ", kAlignment);
  if (buffer.region() == artifact::Region::constants)
    return invalid("has parts of ranks among the constants");
  if (buffer.parts() < 1 ||
      buffer.parts() > static_cast<uint64_t>(header.ranks()))
    return invalid("has ", buffer.parts(), " parts of ranks, expected 1 to ",
                   header.ranks());
  uint64_t others = buffer.parts() - 1;
  uint64_t left = region - buffer.offset() - buffer.size();
  if (others > 0 && stride > left / others)
    return invalid("its ", buffer.parts(), " parts of ranks, ", stride,
                   " bytes from each other, lie outside its region of ", region,
                   " bytes");
  return Status();
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
  GRADUS_TRY(verifyParts(header, buffer, whole));
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

/// The end of a verified buffer, on all ranks.
uint64_t endOf(const artifact::Buffer &buffer) {
  uint64_t end = buffer.offset() + buffer.size();
  if (buffer.rank_stride())
    end += buffer.rank_stride() * (buffer.parts() - 1);
  return end;
}

Status verifyBuffers(const artifact::Header &header,
                     const artifact::Plan &plan) {
  uint64_t end = 0;
  for (size_t i = 0; i < countOf(plan.buffers()); ++i) {
    const artifact::Buffer *buffer = plan.buffers()->Get(i);
    GRADUS_TRY(at(verifyBufferRange(header, plan, *buffer), "buffer ", i));
    if (buffer->region() == artifact::Region::arena)
      end = std::max(end, endOf(*buffer));
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

Status verifyLaunch(const artifact::GpuLaunch *launch) {
  constexpr uint32_t kMostThreads = 1024;
  if (!launch)
    return invalid("does not say how a GPU launches it");
  if (launch->threads() == 0 || launch->threads() > kMostThreads)
    return invalid("has blocks of ", launch->threads(),
                   " threads, expected 1 to ", kMostThreads);
  if ((launch->most_blocks() == 0) == (launch->piece() == 0))
    return invalid("has at most ", launch->most_blocks(),
                   " blocks and pieces of ", launch->piece(),
                   " items, expected one of the two");
  if (!areAligned(launch->scratch()))
    return invalid("has sizes of scratch that are not aligned");
  uint64_t scratch = 0;
  for (size_t i = 0; i < countOf(launch->scratch()); ++i) {
    uint64_t bytes = launch->scratch()->Get(i);
    if (bytes > kMostScratch - scratch)
      return invalid("asks for more than ", kMostScratch, " bytes of scratch");
    scratch += bytes;
  }
  return Status();
}

/// Verifies where a kernel starts, or how it is launched.
Status verifyStart(const artifact::Plan &plan,
                   const artifact::KernelSignature &kernel) {
  if (countOf(plan.images()))
    return verifyLaunch(kernel.gpu());
  uint64_t code = sizeOf(plan.code());
  if (kernel.entry() >= code)
    return invalid("starts at ", kernel.entry(), ", outside the code of ", code,
                   " bytes");
  return Status();
}

Status verifyKernel(const artifact::Plan &plan,
                    const artifact::KernelSignature &kernel) {
  GRADUS_TRY(verifyStart(plan, kernel));
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
    GRADUS_TRY(at(verifyKernel(plan, *kernel), "kernel ", i, " (",
                  textOf(kernel->name()), ")"));
  }
  return Status();
}

//===-- images ------------------------------------------------------------===//

Status verifyImageKernel(const artifact::CodeImage &image,
                         const artifact::ImageKernel &kernel) {
  constexpr uint32_t kMostShared = 227 * 1024;
  bool isEmulated = image.kind() == artifact::ImageKind::emulated;
  if (isEmulated ? kernel.entry() >= sizeOf(image.code()) : kernel.entry() != 0)
    return invalid("starts at ", kernel.entry(), " of ", sizeOf(image.code()),
                   " bytes");
  if (kernel.shared() > kMostShared)
    return invalid("has ", kernel.shared(),
                   " bytes of shared memory a block, expected at most ",
                   kMostShared);
  return Status();
}

Status verifyImage(const artifact::CodeImage &image, size_t kernels) {
  if (image.kind() > artifact::ImageKind::MAX)
    return invalid("is of kind ", static_cast<int>(image.kind()),
                   ", which is unknown");
  if (countOf(image.kernels()) != kernels)
    return invalid("has ", countOf(image.kernels()), " of ", kernels,
                   " kernels");
  if (sizeOf(image.code()) == 0 && kernels > 0)
    return invalid("has no code");
  for (size_t i = 0; i < kernels; ++i)
    GRADUS_TRY(
        at(verifyImageKernel(image, *image.kernels()->Get(i)), "kernel ", i));
  return Status();
}

Status verifyImages(const artifact::Plan &plan,
                    const artifact::CodeHeader *kernels) {
  size_t count = kernels ? countOf(kernels->kernels()) : 0;
  bool hasImages = countOf(plan.images());
  if (hasImages && sizeOf(plan.code()))
    return invalid("has both code and images");
  if (hasImages != isOfKind(textOf(plan.target()), "cuda"))
    return invalid(hasImages ? "has images, as plans for cuda alone do"
                             : "has no images, which plans for cuda are of");
  for (size_t i = 0; i < countOf(plan.images()); ++i)
    GRADUS_TRY(at(verifyImage(*plan.images()->Get(i), count), "image ", i));
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
  if (buffer->rank_stride())
    return invalid("is a rank's part of a tensor");
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

/// Verifies that no other command than a kernel or a copy uses a rank's part.
Status verifyUsesOfParts(const artifact::Plan &plan,
                         const artifact::CodeHeader *kernels,
                         const artifact::Command &command) {
  if (command.kind_as_KernelCommand() || command.kind_as_CopyCommand())
    return Status();
  for (const BufferUse &use : usesOf(plan, kernels, command))
    if (plan.buffers()->Get(use.buffer)->rank_stride())
      return invalid("uses buffer ", use.buffer,
                     ", a rank's part of a tensor, expected of kernels and "
                     "copies alone");
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
    GRADUS_TRY(at(verifyUsesOfParts(plan, kernels, *command), "command ", i,
                  " (", textOf(command->name()), ")"));
  }
  return verifySums(plan, kernels, graphPlan);
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
  GRADUS_TRY(verifyImages(plan, kernels));
  return verifyGraphPlans(header, plan, kernels);
}

} // namespace gradus::runtime
