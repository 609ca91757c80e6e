// A call's scratch begins at a multiple of 256, as libraries want it: in the
// plan's buffer, or in the block that calls share.

#include "runtime/cuda/library_nodes.h"

#include "runtime/flat.h"

#include <algorithm>
#include <unordered_set>

namespace gradus::runtime::cuda {

namespace {

using artifact::LibraryCommand;

constexpr uint32_t kNone = UINT32_MAX;

/// The same for commands that one call can serve.
std::string keyOf(const LibraryCommand &command, uint64_t scratchBytes) {
  artifact::LibraryCommandT table;
  command.UnPackTo(&table);
  for (auto *tensors : {&table.inputs, &table.outputs})
    for (auto &tensor : *tensors)
      tensor->buffer = 0;
  table.scratch = 0;
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

//===-- making ready ------------------------------------------------------===//

Status LibraryNodes::prepare() {
  return forEachLibraryCommand(
      plan_, [&](const LibraryCommand &command, const std::string &where) {
        return at(prepare(command), where);
      });
}

Status LibraryNodes::prepare(const LibraryCommand &command) {
  if (!server_)
    return invalid("this Gradus runs no library commands on a GPU");
  Call &made = calls_[&command];
  GRADUS_ASSIGN(made.inputs, stridedOf(command.inputs(), "input"));
  GRADUS_ASSIGN(made.outputs, stridedOf(command.outputs(), "output"));
  uint64_t has = scratchInPlan(plan_, command);
  GRADUS_ASSIGN(made.call, callFor(command, has));
  made.takesPlansScratch = made.call->scratchBytes() <= has;
  if (!made.takesPlansScratch)
    scratchBytes_ = std::max(scratchBytes_, made.call->scratchBytes());
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

std::string LibraryNodes::inWordsFor(const std::string &card) const {
  size_t measured = 0;
  std::unordered_set<const LibraryCall *> counted;
  for (const auto &[command, made] : calls_)
    if (counted.insert(made.call.get()).second)
      measured += made.call->isMeasured();
  if (counted.empty())
    return "";
  return inWords(counted.size(), " different calls of libraries",
                 measured ? inWords(", ", measured,
                                    " by the algorithm that the artifact has "
                                    "for ",
                                    card)
                          : "");
}

//===-- on memory ---------------------------------------------------------===//

CallAddresses LibraryNodes::addressesOf(const LibraryCommand &command,
                                        const StepMemory &memory) const {
  const Call &call = calls_.at(&command);
  CallAddresses addresses;
  for (const artifact::LibraryTensor *tensor : *command.inputs())
    addresses.inputs.push_back(memory.addressOf(buffer(tensor->buffer())));
  for (const artifact::LibraryTensor *tensor : *command.outputs())
    addresses.outputs.push_back(memory.addressOf(buffer(tensor->buffer())));
  if (call.call->scratchBytes())
    addresses.scratch =
        call.takesPlansScratch
            ? aligned(memory.addressOf(buffer(command.scratch())))
            : memory.libraryScratch;
  return addresses;
}

Status LibraryNodes::warmUp(const Driver &driver, Stream stream,
                            const StepMemory &memory) {
  if (calls_.empty() || !server_->warmsUp())
    return Status();
  std::unordered_set<const LibraryCall *> done;
  GRADUS_TRY(forEachLibraryCommand(plan_, [&](const LibraryCommand &command,
                                              const std::string &where) {
    LibraryCall &call = *calls_.at(&command).call;
    return done.insert(&call).second
               ? at(call.enqueue(stream, addressesOf(command, memory)), where)
               : Status();
  }));
  return check(driver, driver.streamSynchronize(stream),
               "running library commands for the first time");
}

Node LibraryNodes::nodeOf(const LibraryCommand &command,
                          const StepMemory &memory) const {
  const Call &call = calls_.at(&command);
  CallAddresses addresses = addressesOf(command, memory);
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
  }};
  return node;
}

} // namespace gradus::runtime::cuda
