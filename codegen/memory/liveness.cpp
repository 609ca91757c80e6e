// Computes which values need memory, and during which commands.

#include "codegen/memory/liveness.h"

using namespace mlir;
using namespace gradus;

int64_t gradus::tensorBytes(Type type) {
  auto tensor = cast<ShapedType>(type);
  int64_t bits = tensor.getElementType().getIntOrFloatBitWidth();
  return tensor.getNumElements() * std::max<int64_t>(1, bits / 8);
}

int64_t gradus::paddedBytes(Type tensor) {
  return (tensorBytes(tensor) + 63) / 64 * 64;
}

Value gradus::storageOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<NamesMemory>())
      break;
    value = op->getOperand(0);
  }
  return value;
}

static int64_t partsOf(Type whole, Type part) {
  return llvm::divideCeil(cast<RankedTensorType>(whole).getNumElements(),
                          cast<RankedTensorType>(part).getNumElements());
}

int64_t gradus::partsAt(Value value) {
  if (auto part = value.getDefiningOp<PartOp>())
    return partsOf(part.getInput().getType(), part.getType());
  for (Operation *user : value.getUsers())
    if (auto whole = dyn_cast<WholeOp>(user))
      return partsOf(whole.getType(), value.getType());
  return 0;
}

/// A sum is made in the memory of its operand, which has the room that the
/// result needs.
int64_t gradus::roomOf(Value value) {
  int64_t room = paddedBytes(value.getType());
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto part = dyn_cast<PartOp>(user))
      room = std::max(room, paddedBytes(part.getType()) * partsAt(part));
    else if (auto whole = dyn_cast<WholeOp>(user))
      room = std::max({room, paddedBytes(value.getType()) * partsAt(value),
                       roomOf(whole.getResult())});
    else if (user->hasTrait<NamesMemory>())
      room = std::max(room, roomOf(user->getResult(0)));
    else if (isa<plan::FinishOp>(user) && use.getOperandNumber() > 0)
      room =
          std::max(room, roomOf(user->getResult(use.getOperandNumber() - 1)));
  }
  return room;
}

SmallVector<Operation *> gradus::commandsOf(GraphOp graph) {
  SmallVector<Operation *> commands;
  for (Operation &op : graph.getBody().front())
    if (isa<plan::Command>(op))
      commands.push_back(&op);
  return commands;
}

int64_t gradus::scratchBytes(Operation *command) {
  return (cast<plan::Command>(command).getScratchBytes() + 63) / 64 * 64;
}

llvm::MapVector<Value, LiveRange>
gradus::liveRanges(GraphOp graph, ArrayRef<Operation *> commands) {
  llvm::MapVector<Value, LiveRange> ranges;
  for (BlockArgument input : graph.getBody().getArguments())
    ranges[input] = {0, 1};
  auto use = [&](Value value, int64_t end) {
    auto found = ranges.find(storageOf(value));
    if (found != ranges.end())
      found->second.end = std::max(found->second.end, end);
  };
  for (auto [index, command] : llvm::enumerate(commands)) {
    int64_t at = index;
    for (Value operand : command->getOperands())
      use(operand, at + 1);
    for (Value result : command->getResults())
      ranges[result] = {at, at + 1};
  }
  // One past the last command: no command may reuse the memory of returned
  // values.
  int64_t last = commands.size() + 1;
  for (Operation &op : graph.getBody().front())
    if (isa<ReturnOp, WriteOp>(op))
      for (Value operand : op.getOperands())
        use(operand, last);
  return ranges;
}

Peak gradus::peakOf(GraphOp graph, ArrayRef<Operation *> commands) {
  std::vector<int64_t> change(commands.size() + 1, 0);
  llvm::DenseSet<Value> written;
  graph.walk(
      [&](WriteOp write) { written.insert(storageOf(write.getValue())); });
  for (auto &[value, range] : liveRanges(graph, commands)) {
    if (written.contains(value))
      continue;
    int64_t bytes = roomOf(value);
    change[range.begin] += bytes;
    change[std::min<int64_t>(range.end, commands.size())] -= bytes;
  }
  Peak peak;
  int64_t live = 0;
  for (auto [index, command] : llvm::enumerate(commands)) {
    live += change[index];
    if (live + scratchBytes(command) > peak.bytes)
      peak = {index, live + scratchBytes(command)};
  }
  return peak;
}
