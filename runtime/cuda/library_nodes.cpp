// The scratch of a call is aligned to 256 bytes, as libraries need: in the
// plan's buffer, or in a block that calls share.

#include "runtime/cuda/library_nodes.h"

#include "runtime/cuda/plain_product.h"
#include "runtime/flat.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace gradus::runtime::cuda {

namespace {

using artifact::LibraryCommand;

constexpr uint32_t kNone = UINT32_MAX;

/// The kernel that may take the place of what stands behind a matmul.
uint32_t epilogueKernelOf(const LibraryCommand &command) {
  return command.op_as_matmul()->epilogue();
}

/// The key of a command, equal for commands that one call can serve.
std::string keyOf(const LibraryCommand &command, uint64_t scratchBytes) {
  artifact::LibraryCommandT table;
  command.UnPackTo(&table);
  for (auto *tensors : {&table.inputs, &table.outputs})
    for (auto &tensor : *tensors)
      tensor->buffer = 0;
  table.scratch = 0;
  if (artifact::MatmulCallT *matmul = table.op.Asmatmul())
    matmul->epilogue = 0;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(LibraryCommand::Pack(builder, &table));
  auto *bytes = reinterpret_cast<const char *>(builder.GetBufferPointer());
  return std::string(bytes, builder.GetSize()) + std::to_string(scratchBytes);
}

} // namespace

Status forEachLibraryCommand(
    const artifact::Plan &plan,
    const std::function<Status(const LibraryCommand &, const std::string &)>
        &visit) {
  for (size_t g = 0; g < countOf(plan.graphs()); ++g) {
    const auto *commands = plan.graphs()->Get(g)->commands();
    for (size_t c = 0; c < countOf(commands); ++c)
      if (const auto *library = commands->Get(c)->kind_as_LibraryCommand())
        GRADUS_TRY(
            visit(*library, inWords("command ", c, " (",
                                    textOf(commands->Get(c)->name()), ")")));
  }
  return Status();
}

bool hasLibraryCommands(const artifact::Plan &plan) {
  size_t count = 0;
  (void)forEachLibraryCommand(plan,
                              [&](const LibraryCommand &, const std::string &) {
                                ++count;
                                return Status();
                              });
  return count > 0;
}

uint64_t scratchInPlan(const artifact::Plan &plan,
                       const LibraryCommand &command) {
  if (command.scratch() == kNone)
    return 0;
  const artifact::Buffer &buffer = *plan.buffers()->Get(command.scratch());
  uint64_t start = buffer.offset(), end = start + buffer.size();
  return end - std::min(end, aligned(start));
}

//===-- preparation ------------------------------------------------------===//

Status LibraryNodes::prepare() {
  return forEachLibraryCommand(
      plan_, [&](const LibraryCommand &command, const std::string &where) {
        return at(prepare(command), where);
      });
}

Status LibraryNodes::prepare(const LibraryCommand &command) {
  if (!server_)
    return invalid("this Gradus runs no library commands on a GPU");
  Command &made = commands_[&command];
  made = {};
  uint64_t has = scratchInPlan(plan_, command);
  auto call = callFor(command, has);
  if (call.ok())
    return addCall(command, *call, has, made);
  if (sumsOperand(command) || hasEpilogue(command)) {
    GRADUS_ASSIGN(made.lack, server_->lackOf(command));
  }
  return made.isWhole() ? call.status() : preparePlain(command, made);
}

Status LibraryNodes::preparePlain(const LibraryCommand &command,
                                  Command &made) {
  uint64_t has = scratchInPlan(plan_, command);
  if (hasEpilogue(command) && epilogueKernelOf(command) == kNone)
    return failed(made.lack, ", and the artifact no kernel to take its place");
  for (flatbuffers::DetachedBuffer &part : plainProductOf(command)) {
    parts_.push_back(std::move(part));
    const auto &plain =
        *flatbuffers::GetRoot<LibraryCommand>(parts_.back().data());
    auto call = callFor(plain, has);
    GRADUS_TRY(at(call.status(), made.lack));
    GRADUS_TRY(addCall(plain, *call, has, made));
  }
  return Status();
}

/// Adds a call, and records the memory that it needs in addition to the plan's.
/// The buffer of a plain matmul has the size that the kernel after it reads.
Status LibraryNodes::addCall(const LibraryCommand &command,
                             std::shared_ptr<LibraryCall> call, uint64_t has,
                             Command &made) {
  Call added{&command, std::move(call), {}, {}};
  GRADUS_ASSIGN(added.inputs, stridedOf(command.inputs(), "input"));
  GRADUS_ASSIGN(added.outputs, stridedOf(command.outputs(), "output"));
  added.takesPlansScratch = added.call->scratchBytes() <= has;
  if (!added.takesPlansScratch)
    scratchBytes_ = std::max(scratchBytes_, added.call->scratchBytes());
  for (size_t i = 0; i < added.inputs.size(); ++i)
    if (command.inputs()->Get(i)->buffer() == kOnesBuffer) {
      uint64_t &bytes = ones_[added.inputs[i].dtype];
      bytes = std::max(bytes, added.inputs[i].bytes());
    }
  if (command.outputs()->Get(0)->buffer() == kProductBuffer)
    productBytes_ = std::max({productBytes_, added.outputs[0].bytes(),
                              kernels_.kernels()
                                  ->Get(epilogueKernelOf(command))
                                  ->fixed_bytes()
                                  ->Get(0)});
  made.calls.push_back(std::move(added));
  return Status();
}

StatusOr<std::shared_ptr<LibraryCall>>
LibraryNodes::callFor(const LibraryCommand &command, uint64_t scratchBytes) {
  std::shared_ptr<LibraryCall> &call = alike_[keyOf(command, scratchBytes)];
  if (!call) {
    GRADUS_ASSIGN(call, server_->prepare(command, scratchBytes));
  }
  return call;
}

//===-- description ------------------------------------------------------===//

std::vector<std::string>
LibraryNodes::inWordsFor(const std::string &card) const {
  size_t measured = 0, beside = 0;
  std::unordered_set<const LibraryCall *> counted;
  for (const auto &[command, made] : commands_)
    for (const Call &each : made.calls)
      if (counted.insert(each.call.get()).second) {
        measured += each.call->isMeasured();
        beside += !each.takesPlansScratch;
      }
  if (counted.empty())
    return {};
  std::vector<std::string> lines = {inWords(
      counted.size(), " different calls of libraries",
      measured ? inWords(", ", measured,
                         " by the algorithm that the artifact has for ", card)
               : "",
      beside ? inWords(", ", beside, " with scratch beside the plan's (",
                       sizeInWords(scratchBytes_), ")")
             : "")};
  for (const CallForm &form : forms())
    if (!form.why.empty())
      lines.push_back(inWords(form.call, ": ", form.form, ", ", form.count,
                              form.count == 1 ? " call (" : " calls (",
                              form.why, ")"));
  return lines;
}

static std::string formOf(const LibraryCommand &command, bool isWhole) {
  if (isWhole)
    return "whole";
  return sumsOperand(command) ? "plain call and a product with ones"
                              : "plain call and a kernel";
}

std::vector<CallForm> LibraryNodes::forms() const {
  std::vector<CallForm> forms;
  for (size_t g = 0; g < countOf(plan_.graphs()); ++g) {
    const auto *commands = plan_.graphs()->Get(g)->commands();
    for (size_t c = 0; c < countOf(commands); ++c) {
      const auto *command = commands->Get(c)->kind_as_LibraryCommand();
      auto made = commands_.find(command);
      if (made == commands_.end())
        continue;
      CallForm form{textOf(commands->Get(c)->name()),
                    formOf(*command, made->second.isWhole()), made->second.lack,
                    1};
      auto same = std::ranges::find_if(forms, [&](const CallForm &other) {
        return other.call == form.call && other.why == form.why;
      });
      if (same == forms.end())
        forms.push_back(form);
      else
        ++same->count;
    }
  }
  return forms;
}

//===-- nodes and memory -------------------------------------------------===//

uint64_t LibraryNodes::offsetOfOnes(artifact::DType dtype) const {
  uint64_t offset = 0;
  for (auto [type, bytes] : ones_) {
    if (type == dtype)
      break;
    offset += aligned(bytes);
  }
  return offset;
}

uint64_t LibraryNodes::onesBytes() const {
  uint64_t bytes = 0;
  for (auto [type, ofType] : ones_)
    bytes += aligned(ofType);
  return bytes;
}

DevicePointer LibraryNodes::addressOf(const artifact::LibraryTensor &tensor,
                                      const StepMemory &memory) const {
  if (tensor.buffer() == kOnesBuffer)
    return memory.ones + offsetOfOnes(tensor.dtype());
  if (tensor.buffer() == kProductBuffer)
    return memory.product;
  return memory.addressOf(*plan_.buffers()->Get(tensor.buffer()));
}

CallAddresses LibraryNodes::addressesOf(const Call &call,
                                        const StepMemory &memory) const {
  CallAddresses addresses;
  for (const artifact::LibraryTensor *tensor : *call.command->inputs())
    addresses.inputs.push_back(addressOf(*tensor, memory));
  for (const artifact::LibraryTensor *tensor : *call.command->outputs())
    addresses.outputs.push_back(addressOf(*tensor, memory));
  if (call.call->scratchBytes())
    addresses.scratch = call.takesPlansScratch
                            ? aligned(memory.addressOf(*plan_.buffers()->Get(
                                  call.command->scratch())))
                            : memory.libraryScratch;
  return addresses;
}

Status LibraryNodes::writeOnes(const Driver &driver, Stream stream,
                               const StepMemory &memory) const {
  for (auto [dtype, bytes] : ones_) {
    uint32_t one = dtype == artifact::DType::f16    ? 0x3C00
                   : dtype == artifact::DType::bf16 ? 0x3F80
                                                    : 0x3F800000;
    size_t each = bytesOf(dtype);
    std::vector<uint8_t> ones(bytes);
    for (size_t at = 0; at + each <= ones.size(); at += each)
      std::memcpy(&ones[at], &one, each);
    GRADUS_TRY(check(driver,
                     driver.copyToDevice(memory.ones + offsetOfOnes(dtype),
                                         ones.data(), ones.size(), stream),
                     "sending ones"));
    GRADUS_TRY(check(driver, driver.streamSynchronize(stream), "sending ones"));
  }
  return Status();
}

Status LibraryNodes::warmUp(const Driver &driver, Stream stream,
                            const StepMemory &memory) {
  GRADUS_TRY(writeOnes(driver, stream, memory));
  if (commands_.empty() || !server_->warmsUp())
    return Status();
  std::unordered_set<LibraryCall *> done;
  GRADUS_TRY(forEachLibraryCommand(
      plan_, [&](const LibraryCommand &command, const std::string &where) {
        for (const Call &each : commands_.at(&command).calls)
          if (done.insert(each.call.get()).second)
            GRADUS_TRY(at(each.call->enqueue(stream, addressesOf(each, memory)),
                          where));
        return Status();
      }));
  for (LibraryCall *call : done)
    call->leaveStream();
  return check(driver, driver.streamSynchronize(stream),
               "running library commands for the first time");
}

std::vector<Node> LibraryNodes::nodesOf(const LibraryCommand &command,
                                        const StepMemory &memory) const {
  std::vector<Node> nodes;
  for (const Call &call : commands_.at(&command).calls)
    nodes.push_back(nodeOf(call, memory));
  return nodes;
}

//===-- kernels after matmuls --------------------------------------------===//

bool LibraryNodes::runsKernel(const LibraryCommand &command) const {
  return hasEpilogue(command) && !commands_.at(&command).isWhole();
}

std::optional<EpilogueLaunch>
LibraryNodes::epilogueOf(const LibraryCommand &command,
                         const StepMemory &memory) const {
  if (!runsKernel(command))
    return std::nullopt;
  EpilogueLaunch launch{epilogueKernelOf(command), {}, {}};
  auto add = [&](const artifact::LibraryTensor &tensor) {
    launch.arguments.push_back(addressOf(tensor, memory));
    launch.elementBytes.push_back(uint32_t(bytesOf(tensor.dtype())));
  };
  const Call &product = commands_.at(&command).calls.back();
  add(*product.command->outputs()->Get(0));
  for (size_t i = 2; i < countOf(command.inputs()); ++i)
    add(*command.inputs()->Get(unsigned(i)));
  for (const artifact::LibraryTensor *output : *command.outputs())
    add(*output);
  return launch;
}

std::vector<uint32_t> LibraryNodes::epilogueKernels() const {
  std::vector<uint32_t> kernels;
  for (const auto &[command, made] : commands_)
    if (runsKernel(*command))
      kernels.push_back(epilogueKernelOf(*command));
  return kernels;
}

Node LibraryNodes::nodeOf(const Call &call, const StepMemory &memory) const {
  CallAddresses addresses = addressesOf(call, memory);
  Node node;
  auto add = [&](const Tensors &tensors,
                 const std::vector<DevicePointer> &starts, bool writes) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      auto [row, pitch] = tensors[i].rows();
      node.accesses.push_back({starts[i], tensors[i].bytes(),
                               uint32_t(bytesOf(tensors[i].dtype)), writes, row,
                               pitch});
    }
  };
  add(call.inputs, addresses.inputs, false);
  add(call.outputs, addresses.outputs, true);
  if (uint64_t bytes = call.call->scratchBytes())
    node.accesses.push_back({addresses.scratch, bytes, 1, true});
  node.work = CaptureNode{[made = call.call.get(), addresses](Stream stream) {
                            return made->enqueue(stream, addresses);
                          },
                          [made = call.call.get()] { made->leaveStream(); }};
  return node;
}

} // namespace gradus::runtime::cuda
