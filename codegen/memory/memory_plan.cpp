// Assigns memory to all values of a program. Decides in-place updates, then
// offsets.cpp packs the remaining blocks.

#include "codegen/memory/memory_plan.h"

#include "codegen/memory/buckets.h"
#include "codegen/memory/offsets.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace gradus;

StatePlaces gradus::placeStates(ProgramOp program) {
  llvm::StringMap<int64_t> rooms;
  for (auto graph : program.getBody().getOps<GraphOp>())
    for (auto read : graph.getBody().getOps<ReadOp>()) {
      int64_t &room = rooms[read.getState()];
      room = std::max(room, roomOf(read.getResult()));
    }
  StatePlaces places;
  for (auto state : program.getBody().getOps<StateOp>()) {
    places.offsets[state.getSymName()] = places.bytes;
    places.bytes += std::max(paddedBytes(state.getType()),
                             rooms.lookup(state.getSymName()));
  }
  return places;
}

void gradus::placeConstants(GraphOp graph, ConstantPlaces &constants) {
  for (auto constant : graph.getBody().getOps<arith::ConstantOp>()) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value)
      continue;
    auto [entry, isNew] = constants.offsets.try_emplace(value, constants.bytes);
    if (!isNew)
      continue;
    constants.order.push_back(value);
    constants.bytes += paddedBytes(value.getType());
  }
}

namespace {

class Planner {
public:
  Planner(GraphOp graph, const StatePlaces &states,
          const ConstantPlaces &constants)
      : graph_(graph), states_(states), constants_(constants),
        commands_(commandsOf(graph)), ranges_(liveRanges(graph, commands_)) {
    for (auto [index, command] : llvm::enumerate(commands_)) {
      number_[command] = index;
      for (Value operand : command->getOperands())
        ++readings_[{command, storageOf(operand)}];
    }
    for (auto read : graph.getBody().getOps<ReadOp>())
      reads_[read.getState()].push_back(read);
  }

  GraphMemory run() {
    for (Operation &op : graph_.getBody().front()) {
      if (auto read = dyn_cast<ReadOp>(op))
        placeRead(read);
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        placeConstant(constant);
    }
    graph_.walk([&](WriteOp write) { placeWrite(write); });
    for (Value returned : graph_.getReturned())
      snapshot(storageOf(returned));
    for (const FinalCopy &copy : memory_.copies)
      snapshot(storageOf(copy.source));
    Buckets buckets(commands_, ranges_, [&](Value value) {
      return memory_.places.count(value) > 0;
    });
    joinInPlace(buckets);
    buckets.layOut([&](Value value) { return homeOf(value); });
    pack(buckets);
    return std::move(memory_);
  }

private:
  void placeRead(ReadOp read) {
    memory_.places[read.getResult()] = {
        MemoryRegion::state, states_.offsets.lookup(read.getState())};
  }

  void placeConstant(arith::ConstantOp constant) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value)
      return;
    auto found = constants_.offsets.find(value);
    if (found == constants_.offsets.end())
      llvm::reportFatalInternalError("a constant of the graph has no place");
    memory_.places[constant.getResult()] = {MemoryRegion::constants,
                                            found->second};
  }

  /// Writes the new value to the state's own memory, or copies it there.
  void placeWrite(WriteOp write) {
    Value value = storageOf(write.getValue());
    if (auto read = value.getDefiningOp<ReadOp>();
        read && read.getState() == write.getState())
      return;
    Operation *writer = value.getDefiningOp();
    if (!writer || !number_.count(writer) || memory_.places.count(value) ||
        roomOf(value) > paddedBytes(write.getValue().getType()) ||
        !oldValueDone(write.getState(), value)) {
      memory_.copies.push_back({write.getValue(), write.getState().str()});
      return;
    }
    memory_.places[value] = {MemoryRegion::state,
                             states_.offsets.lookup(write.getState())};
  }

  /// Saves an old value that is used after the step's writes.
  void snapshot(Value value) {
    if (value.getDefiningOp<ReadOp>())
      snapshots_.insert(value);
  }

  int64_t end() const { return commands_.size(); }

  /// Whether a state's old value is not needed once `value` is being written.
  bool oldValueDone(StringRef state, Value value) {
    int64_t writing = number_[value.getDefiningOp()];
    for (ReadOp read : reads_[state]) {
      int64_t last = lastUse(read.getResult());
      if (last > writing ||
          (last == writing && !mayReplace(value, read.getResult())))
        return false;
    }
    return true;
  }

  /// The number of the last command that reads the value, also through
  /// reshapes; the end of the graph if it is returned or written to a state.
  int64_t lastUse(Value value) {
    int64_t last = -1;
    for (Operation *user : value.getUsers()) {
      if (auto command = number_.find(user); command != number_.end())
        last = std::max(last, command->second);
      else if (user->hasTrait<NamesMemory>())
        last = std::max(last, lastUse(user->getResult(0)));
      else
        last = end();
    }
    return last;
  }

  /// Whether the command that makes `result` lets it take the memory of `old`,
  /// which is none of its other operands.
  bool mayReplace(Value result, Value old) {
    auto command = dyn_cast_or_null<plan::Command>(result.getDefiningOp());
    if (!command)
      return false;
    int64_t operand =
        command.getInplaceOperand(cast<OpResult>(result).getResultNumber());
    if (operand < 0 || storageOf(command->getOperand(operand)) != old)
      return false;
    return readings_.lookup({command, old}) == 1;
  }

  /// Lets results share the block of an operand that is dead after the command.
  void joinInPlace(Buckets &buckets) {
    for (Operation *command : commands_) {
      for (OpResult result : command->getResults()) {
        int64_t index = cast<plan::Command>(command).getInplaceOperand(
            result.getResultNumber());
        if (index >= 0 && !memory_.places.count(result))
          join(storageOf(command->getOperand(index)), result, buckets);
      }
    }
  }

  void join(Value operand, Value result, Buckets &buckets) {
    bool inArena = ranges_.count(operand) && !memory_.places.count(operand);
    bool dies = inArena && ranges_[operand].end == ranges_[result].begin + 1;
    if (!dies || !mayReplace(result, operand) || taken_.count(operand) ||
        roomOf(operand) < roomOf(result) ||
        !buckets.mayTakeOver(homeOf(operand), result, ranges_[result]))
      return;
    buckets.takeOver(homeOf(operand), result);
    taken_.insert(operand);
    home_[result] = operand;
  }

  Value homeOf(Value value) {
    while (home_.count(value))
      value = home_[value];
    return value;
  }

  void pack(const Buckets &buckets) {
    llvm::MapVector<Value, PlannedBlock> blocks;
    for (auto &[value, range] : ranges_) {
      if (memory_.places.count(value))
        continue;
      Buckets::Slot slot = buckets.slotOf(homeOf(value));
      auto [entry, isNew] =
          blocks.insert({slot.block, {slot.size, range.begin, range.end}});
      entry->second.begin = std::min(entry->second.begin, range.begin);
      entry->second.end = std::max(entry->second.end, range.end);
    }
    std::vector<PlannedBlock> all;
    for (auto &[value, block] : blocks)
      all.push_back(block);
    for (Value value : snapshots_)
      all.push_back({roomOf(value), end(), end() + 1});
    for (auto [index, command] : llvm::enumerate(commands_))
      if (int64_t bytes = scratchBytes(command))
        all.push_back({bytes, int64_t(index), int64_t(index) + 1});
    Packing packing = packBlocks(all);
    memory_.arena = packing.size;
    memory_.bound = livenessBound(all);
    record(blocks, packing, buckets);
  }

  void record(const llvm::MapVector<Value, PlannedBlock> &blocks,
              const Packing &packing, const Buckets &buckets) {
    size_t next = 0;
    DenseMap<Value, int64_t> offsets;
    for (auto &[value, block] : blocks)
      offsets[value] = packing.offsets[next++];
    for (Value value : snapshots_)
      memory_.snapshots[value] = packing.offsets[next++];
    for (Operation *command : commands_)
      if (scratchBytes(command))
        memory_.scratch[command] = packing.offsets[next++];
    for (auto &[value, range] : ranges_) {
      if (memory_.places.count(value))
        continue;
      Buckets::Slot slot = buckets.slotOf(homeOf(value));
      memory_.places[value] = {MemoryRegion::arena,
                               offsets.lookup(slot.block) + slot.offset};
    }
  }

  GraphOp graph_;
  const StatePlaces &states_;
  const ConstantPlaces &constants_;
  SmallVector<Operation *> commands_;
  llvm::MapVector<Value, LiveRange> ranges_;
  DenseMap<Operation *, int64_t> number_;
  DenseMap<StringRef, SmallVector<ReadOp, 1>> reads_; // of each state
  /// The number of a command's operands that use a value's memory.
  DenseMap<std::pair<Operation *, Value>, unsigned> readings_;
  DenseMap<Value, Value> home_; // result -> operand whose block it reuses
  DenseSet<Value> taken_;
  llvm::SetVector<Value> snapshots_;
  GraphMemory memory_;
};

} // namespace

GraphMemory gradus::planMemory(GraphOp graph, const StatePlaces &states,
                               const ConstantPlaces &constants) {
  return Planner(graph, states, constants).run();
}
