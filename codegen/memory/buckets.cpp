// Finds the buckets of a graph, and gives their members offsets.

#include "codegen/memory/buckets.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gradus;

Buckets::Buckets(ArrayRef<Operation *> commands, const Ranges &ranges,
                 llvm::function_ref<bool(Value)> isPlaced) {
  int64_t last = commands.size();
  for (auto [index, command] : llvm::enumerate(commands)) {
    if (auto start = dyn_cast<plan::StartOp>(command))
      add(start, ranges, isPlaced);
    auto finish = dyn_cast<plan::FinishOp>(command);
    if (!finish)
      continue;
    for (Bucket &bucket : buckets_)
      if (bucket.begun == int64_t(finish.getNumber())) {
        bucket.end = index + 1;
        for (Value sum : finish.getResults())
          if (int64_t end = ranges.lookup(sum).end; end <= last)
            bucket.end = std::max(bucket.end, end);
      }
  }
}

void Buckets::add(plan::StartOp start, const Ranges &ranges,
                  llvm::function_ref<bool(Value)> isPlaced) {
  if (start.getParts()) // which are packed when they travel
    return;
  llvm::SetVector<Value> members;
  for (Value operand : start.getOperands())
    if (Value member = storageOf(operand);
        ranges.count(member) && !isPlaced(member) && !bucketOf_.count(member))
      members.insert(member);
  if (members.size() < 2)
    return;
  for (Value member : members)
    bucketOf_[member] = buckets_.size();
  buckets_.push_back(
      {members.takeVector(), int64_t(start.getNumber()), /*end=*/0});
}

bool Buckets::mayTakeOver(Value home, Value result, LiveRange range) const {
  auto bucket = bucketOf_.find(home);
  bool isInBucket = bucket != bucketOf_.end();
  if (bucketOf_.count(result))
    return !isInBucket && roomOf(home) == roomOf(result);
  return !isInBucket || range.end <= buckets_[bucket->second].end;
}

void Buckets::takeOver(Value home, Value result) {
  if (auto bucket = bucketOf_.find(result); bucket != bucketOf_.end())
    bucketOf_[home] = bucket->second;
}

void Buckets::layOut(llvm::function_ref<Value(Value)> homeOf) {
  for (const Bucket &bucket : buckets_) {
    Value block = homeOf(bucket.members.front());
    int64_t size = 0;
    for (Value member : bucket.members) {
      Value home = homeOf(member);
      slots_[home] = {block, size, 0};
      size += roomOf(home);
    }
    for (Value member : bucket.members)
      slots_[homeOf(member)].size = size;
  }
}

Buckets::Slot Buckets::slotOf(Value home) const {
  auto slot = slots_.find(home);
  return slot != slots_.end() ? slot->second : Slot{home, 0, roomOf(home)};
}
