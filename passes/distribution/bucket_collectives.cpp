// Joins sums over ranks to buckets, in the order in which their operands become
// final.
//
// Runs last, so that it sees what all other passes share. The buckets are the
// same for every target: ranks on unequal machines agree.

#include "passes/distribution.h"

#include "passes/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// A collective with its place among the ops of its block.
struct Placed {
  AllReduceOp op;
  int64_t ready = -1; // the last op that makes an operand; -1: none does
  int64_t needed = 0; // the first op that takes a result
  int64_t level = 0;  // how many collectives follow each other up to it
  int64_t bytes = 0;
};

using Bucket = SmallVector<Placed>;

int64_t bytesOf(AllReduceOp op) {
  int64_t bytes = 0;
  for (Type type : op.getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// Shares each value once. Common subexpressions do not find these, as each
/// sends messages.
void shareOnce(Block &block) {
  DenseMap<std::pair<Value, StringAttr>, Value> sums;
  for (auto sum : llvm::make_early_inc_range(block.getOps<AllReduceOp>())) {
    if (sum.getNumOperands() != 1)
      continue;
    auto [known, isNew] = sums.try_emplace(
        {sum.getOperand(0), sum.getAxisAttr()}, sum.getResult(0));
    if (isNew)
      continue;
    sum.getResult(0).replaceAllUsesWith(known->second);
    sum.erase();
  }
}

/// The collectives of a block, in the order in which they can begin.
Bucket collectivesOf(Block &block) {
  DenseMap<Operation *, int64_t> place, level;
  Bucket all;
  for (auto [index, op] : llvm::enumerate(block)) {
    place[&op] = index;
    int64_t deepest = 0, ready = -1;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp()) {
        deepest = std::max(deepest, level.lookup(maker));
        ready = std::max(ready, place.lookup(maker));
      }
    auto sum = dyn_cast<AllReduceOp>(op);
    level[&op] = deepest + (sum ? 1 : 0);
    if (sum)
      all.push_back({sum, ready, 0, deepest, bytesOf(sum)});
  }
  for (Placed &each : all) {
    each.needed = place.size();
    for (Operation *user : each.op->getUsers())
      each.needed = std::min(each.needed, place.lookup(user));
  }
  llvm::stable_sort(all, [](const Placed &one, const Placed &other) {
    return one.ready < other.ready;
  });
  return all;
}

/// Whether the bucket may also have `next`, which begins no earlier than it:
/// nothing may need a result before `next` can begin.
bool mayTake(const Bucket &bucket, const Placed &next) {
  return llvm::all_of(bucket, [&](const Placed &each) {
    return each.level == next.level && each.needed > next.ready &&
           AllReduceOp(each.op).mayJoin(next.op);
  });
}

/// Cuts the collectives into buckets of at most so many bytes; what comes last,
/// whose time nothing hides, into a smaller one.
std::vector<Bucket> bucketsOf(ArrayRef<Placed> all, int64_t mostBytes) {
  size_t tail = all.size();
  for (int64_t bytes = 0;
       tail > 0 && (bytes += all[tail - 1].bytes) <= mostBytes / 8;)
    --tail;
  std::vector<Bucket> buckets;
  int64_t bytes = 0;
  for (auto [index, each] : llvm::enumerate(all)) {
    bool begins = buckets.empty() || index == tail ||
                  bytes + each.bytes > mostBytes ||
                  !mayTake(buckets.back(), each);
    if (begins) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(each);
    bytes += each.bytes;
  }
  return buckets;
}

/// Puts one op in the place of those of a bucket, where its last operand is
/// made.
void join(const Bucket &bucket, ArrayRef<Operation *> ops) {
  SmallVector<Value> operands;
  SmallVector<Location> locations;
  for (const Placed &each : bucket) {
    llvm::append_range(operands, AllReduceOp(each.op).getOperands());
    locations.push_back(AllReduceOp(each.op).getLoc());
  }
  AllReduceOp first = bucket.front().op;
  OpBuilder builder(first);
  if (int64_t last = bucket.back().ready; last >= 0)
    builder.setInsertionPointAfter(ops[last]);
  else
    builder.setInsertionPointToStart(first->getBlock());
  auto joined =
      AllReduceOp::create(builder, builder.getFusedLoc(locations), operands);
  joined.setAxis(first.getAxis());
  unsigned next = 0;
  for (const Placed &each : bucket) {
    Operation *op = AllReduceOp(each.op);
    for (OpResult result : op->getResults())
      result.replaceAllUsesWith(joined.getResult(next++));
    op->erase();
  }
}

struct BucketCollectivesPass
    : impl::BucketCollectivesBase<BucketCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    int64_t mostBytes = distributionOf(getOperation()).bucketBytes;
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      Block &block = graph.getBody().front();
      shareOnce(block);
      Bucket all = collectivesOf(block);
      if (all.empty())
        continue;
      SmallVector<Operation *> ops;
      for (Operation &op : block)
        ops.push_back(&op);
      std::vector<Bucket> buckets = bucketsOf(all, mostBytes);
      for (const Bucket &bucket : buckets)
        join(bucket, ops);
      report(graph, all.size(), buckets.size());
    }
  }

  void report(GraphOp graph, size_t sums, size_t buckets) {
    remark::passed(graph.getLoc(),
                   remark::RemarkOpts::name("Joined").category(getArgument()))
        << "@" << graph.getSymName() << ": " << std::to_string(sums)
        << " sums over ranks travel in " << std::to_string(buckets)
        << " buckets";
  }
};

} // namespace
} // namespace gradus
