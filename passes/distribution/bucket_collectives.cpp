// Joins sums over ranks to buckets, in the order in which their operands become
// final.
//
// Runs last, so that it sees what all other passes share. The buckets are the
// same for every target: ranks on unequal machines agree.

#include "passes/distribution.h"

#include "ir/traits.h"
#include "passes/distribution/buckets.h"
#include "passes/distribution/shared_factors.h"
#include "passes/optimizers/parameter_lists.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace gradus {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

int64_t elementsOf(AllReduceOp op) {
  int64_t elements = 0;
  for (Type type : op.getOperandTypes())
    elements += cast<RankedTensorType>(type).getNumElements();
  return elements;
}

int64_t bytesOf(AllReduceOp op) {
  int64_t bytes = 0;
  for (Type type : op.getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// Whether an op costs little and may run as soon as its operands are there:
/// what unscales, converts, counts or spreads, but no matmul.
bool isLight(Operation *op) {
  return isPure(op) &&
         (op->getNumOperands() == 0 || op->hasTrait<MovesElements>() ||
          OpTrait::hasElementwiseMappableTraits(op) || isa<Elementwise>(op) ||
          isa<ReduceOp>(op));
}

/// The last op of a block that makes an operand; null if none does.
Operation *lastMaker(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp();
        maker && (!last || last->isBeforeInBlock(maker)))
      last = maker;
  return last;
}

/// Moves ops behind each of some others, or to the begin of the block; those
/// behind the same one keep their order.
class Behind {
public:
  explicit Behind(Block &block) : block_(block) {}

  void move(Operation *op, Operation *place) {
    Operation *&last = last_[place];
    if (Operation *before = last ? last : place)
      op->moveAfter(before);
    else
      op->moveBefore(&block_, block_.begin());
    last = op;
  }

private:
  Block &block_;
  DenseMap<Operation *, Operation *> last_; // moved behind a place; null: begin
};

/// Lists the light ops that operands of sums need, in the order of the block.
/// An op that takes a result of a sum is not among them: moved up, it would
/// wait for that.
SmallVector<Operation *> lightOnesBeforeSums(Block &block) {
  llvm::DenseSet<Operation *> afterSums;
  llvm::SetVector<Operation *> needed;
  for (Operation &op : block) {
    bool isSum = isa<AllReduceOp>(op);
    for (Value operand : op.getOperands())
      if (isSum || afterSums.contains(operand.getDefiningOp()))
        afterSums.insert(&op);
    if (!isSum)
      continue;
    SmallVector<Operation *> open = {&op};
    while (!open.empty())
      for (Value operand : open.pop_back_val()->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && isLight(maker) && !afterSums.contains(maker) &&
            needed.insert(maker))
          open.push_back(maker);
  }
  SmallVector<Operation *> inOrder;
  for (Operation &op : block)
    if (needed.contains(&op))
      inOrder.push_back(&op);
  return inOrder;
}

/// Moves sums up to where their last operand is made, and light ops that make
/// operands behind what they wait for: passes put what they add to a gradient
/// before its update.
void beginEarly(Block &block) {
  Behind light(block), sums(block);
  DenseMap<Operation *, Operation *> waited; // by light ops, for others
  SmallVector<std::pair<Operation *, Operation *>> moves;
  for (Operation *op : lightOnesBeforeSums(block)) {
    Operation *last = nullptr;
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (auto moved = waited.find(maker); moved != waited.end())
        maker = moved->second;
      if (maker && (!last || last->isBeforeInBlock(maker)))
        last = maker;
    }
    moves.emplace_back(op, waited[op] = last);
  }
  for (auto [op, place] : moves)
    light.move(op, place);
  for (auto sum : llvm::to_vector(block.getOps<AllReduceOp>()))
    sums.move(sum, lastMaker(sum));
}

/// The sums of a block, in the order in which they begin.
std::vector<PlacedSum> sumsOf(Block &block) {
  DenseMap<Operation *, int64_t> place;
  std::vector<PlacedSum> sums;
  for (auto [index, op] : llvm::enumerate(block)) {
    place[&op] = index;
    if (auto sum = dyn_cast<AllReduceOp>(op)) {
      PlacedSum &placed = sums.emplace_back();
      placed.op = sum;
      placed.place = index;
      placed.bytes = bytesOf(sum);
      placed.elements = elementsOf(sum);
    }
  }
  for (PlacedSum &each : sums) {
    each.needed = place.size();
    for (Operation *user : each.op->getUsers())
      each.needed = std::min(each.needed, place.lookup(user));
  }
  return sums;
}

/// Puts one op in the place of the last of a bucket.
void join(const Bucket &bucket) {
  if (bucket.size() == 1)
    return;
  SmallVector<Value> operands;
  SmallVector<Location> locations;
  SmallVector<StringRef> names;
  for (AllReduceOp sum : bucket) {
    for (unsigned i = 0; i < sum.getNumOperands(); ++i)
      names.push_back(sum.getParameter(i));
    llvm::append_range(operands, sum.getOperands());
    locations.push_back(sum.getLoc());
  }
  AllReduceOp last = bucket.back();
  OpBuilder builder(last);
  auto joined =
      AllReduceOp::create(builder, builder.getFusedLoc(locations), operands);
  joined.setAxis(last.getAxis());
  joined.setGroupsAttr(last.getGroupsAttr());
  joined.setPartsAttr(last.getPartsAttr());
  joined.setParameters(names);
  unsigned next = 0;
  for (AllReduceOp sum : bucket) {
    for (OpResult result : sum.getResults())
      result.replaceAllUsesWith(joined.getResult(next++));
    sum.erase();
  }
}

struct BucketCollectivesPass
    : impl::BucketCollectivesBase<BucketCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    DistributionSettings settings = distributionOf(getOperation());
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      Block &block = graph.getBody().front();
      if (block.getOps<AllReduceOp>().empty())
        continue;
      shareOnce(block);
      if (settings.logicalRanks)
        moveSharedFactorsOut(getOperation(), graph);
      beginEarly(block);
      std::vector<PlacedSum> sums = sumsOf(block);
      if (settings.cuts.splits)
        numberGroups(sums, *settings.cuts.splits);
      std::vector<Bucket> buckets = cutBuckets(sums, settings);
      for (const Bucket &bucket : buckets)
        join(bucket);
      report(graph, sums.size(), buckets.size());
    }
  }

  /// Sets the group of each gradient: its parameter's among all that are
  /// trained, also in a step that trains fewer.
  void numberGroups(MutableArrayRef<PlacedSum> sums, ArrayRef<int64_t> splits) {
    std::vector<StateOp> parameters = trainedParameters(getOperation());
    std::vector<int64_t> groups = gradientGroups(parameters.size(), splits);
    llvm::StringMap<int64_t> byName;
    for (auto [parameter, group] : llvm::zip(parameters, groups))
      byName[parameter.getSymName()] = group;
    for (PlacedSum &sum : sums)
      sum.group = byName.lookup(sum.op.getParameter(0));
  }

  void report(GraphOp graph, size_t sums, size_t buckets) {
    remark::passed(graph.getLoc(),
                   remark::RemarkOpts::name("Joined").category(getArgument()))
        << ("@" + graph.getSymName() + ": " + Twine(sums) +
            " sums over ranks travel in " + Twine(buckets) + " buckets")
               .str();
  }
};

} // namespace
} // namespace gradus
