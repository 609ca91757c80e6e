// Trades time for memory: parts of the model are computed again for the
// backward pass instead of being kept. Stands at the end of `optimize`; codegen
// asks for it only under a memory limit.
//
// Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory
// Cost", 2016, sections 3 and 4; cuts are chosen where few bytes cross.

#include "passes/passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace gradus {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() *
         std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
}

/// What costs no memory of a step: states and numbers.
bool isFree(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<ReadOp>(op) || op->hasTrait<OpTrait::ConstantLike>());
}

/// The ops of a training graph by their part in it.
class Step {
public:
  explicit Step(GraphOp graph) {
    Block &block = graph.getBody().front();
    for (Operation &op : block)
      position_[&op] = position_.size();
    collectModel(lossOf(graph));
    for (Operation &op : block)
      if (inModel_.contains(&op))
        model_.push_back(&op);
  }

  /// The ops that the loss is computed by, in order.
  ArrayRef<Operation *> model() const { return model_; }
  bool inModel(Operation *op) const { return inModel_.contains(op); }

  /// Whether an op belongs to the backward pass: not to the model and behind
  /// it. (Running statistics are computed in the middle of it.)
  bool isBackward(Operation *op) const {
    return !inModel(op) && !model_.empty() &&
           position_.lookup(op) > position_.lookup(model_.back()) &&
           !isa<ReturnOp, WriteOp, ReadOp>(op) &&
           !op->hasTrait<OpTrait::ConstantLike>();
  }

  bool isBefore(Operation *a, Operation *b) const {
    return position_.lookup(a) < position_.lookup(b);
  }

private:
  static Value lossOf(GraphOp graph) {
    for (auto [index, value] : llvm::enumerate(graph.getReturned()))
      if (graph.getOutputName(index) == "loss")
        return value;
    return {};
  }

  void collectModel(Value loss) {
    SmallVector<Value> stack;
    if (loss)
      stack.push_back(loss);
    while (!stack.empty()) {
      Operation *op = stack.pop_back_val().getDefiningOp();
      if (op && !isFree(op->getResult(0)) && inModel_.insert(op).second)
        llvm::append_range(stack, op->getOperands());
    }
  }

  llvm::DenseMap<Operation *, size_t> position_;
  llvm::DenseSet<Operation *> inModel_;
  SmallVector<Operation *> model_;
};

//===-- cuts --------------------------------------------------------------===//

/// For each op of the model: bytes of results up to it, and bytes that it and
/// those before it hand on to those behind it.
struct Profile {
  std::vector<int64_t> made, crossing;

  explicit Profile(const Step &step) {
    llvm::DenseMap<Operation *, int64_t> index;
    for (Operation *op : step.model())
      index[op] = index.size();
    std::vector<int64_t> change(step.model().size() + 1, 0);
    int64_t sum = 0;
    for (auto [at, op] : llvm::enumerate(step.model())) {
      for (Value result : op->getResults()) {
        sum += bytesOf(result);
        int64_t last = at;
        for (Operation *user : result.getUsers())
          if (auto found = index.find(user); found != index.end())
            last = std::max(last, found->second);
        change[at] += bytesOf(result);
        change[last] -= bytesOf(result);
      }
      made.push_back(sum);
    }
    int64_t live = 0;
    for (size_t at = 0; at < made.size(); ++at)
      crossing.push_back(live += change[at]);
  }
};

/// The segment of each op: of cuts near the even ones those that fewest bytes
/// cross.
std::vector<unsigned> segmentsOf(const Profile &profile, unsigned segments) {
  size_t count = profile.made.size();
  std::vector<unsigned> segment(count, 0);
  int64_t whole = profile.made.empty() ? 0 : profile.made.back();
  size_t begin = 0;
  for (unsigned s = 1; s < segments; ++s) {
    int64_t low = whole * (2 * s - 1) / (2 * segments),
            high = whole * (2 * s + 1) / (2 * segments);
    size_t best = count;
    for (size_t at = begin; at + 1 < count && profile.made[at] < high; ++at)
      if (profile.made[at] >= low &&
          (best == count || profile.crossing[at] <= profile.crossing[best]))
        best = at;
    if (best == count)
      continue;
    begin = best + 1;
    for (size_t at = begin; at < count; ++at)
      segment[at] = s;
  }
  return segment;
}

//===-- one segment -------------------------------------------------------===//

class Segment {
public:
  Segment(const Step &step, ArrayRef<Operation *> ops)
      : step_(step), ops_(ops.begin(), ops.end()) {}

  /// Computes again what the backward pass needs; how many ops that takes.
  unsigned recompute() {
    collectKept();
    if (kept_.empty() || !findTime())
      return 0;
    OpBuilder builder(first_);
    unsigned count = 0;
    for (Operation *op : needed()) {
      for (Value operand : op->getOperands())
        if (!mapping_.contains(operand))
          mapping_.map(operand, late(builder, operand));
      builder.clone(*op, mapping_);
      ++count;
    }
    for (Value value : kept_)
      value.replaceUsesWithIf(mapping_.lookup(value), [&](OpOperand &use) {
        return step_.isBackward(use.getOwner());
      });
    return count;
  }

private:
  bool isHere(Operation *op) const { return ops_.contains(op); }

  /// Results that the backward pass reads and later segments do not.
  void collectKept() {
    for (Operation *op : ops_)
      for (Value result : op->getResults())
        if (!crosses(result) &&
            llvm::any_of(result.getUsers(), [&](Operation *user) {
              return step_.isBackward(user);
            }))
          kept_.push_back(result);
  }

  bool crosses(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return step_.inModel(user) && !isHere(user);
    });
  }

  /// The first op that reads a kept value, and a gradient that is there by
  /// then.
  bool findTime() {
    SmallVector<Operation *> readers;
    for (Value value : kept_)
      for (Operation *user : value.getUsers())
        if (step_.isBackward(user))
          readers.push_back(user);
    llvm::sort(readers, [&](Operation *a, Operation *b) {
      return step_.isBefore(a, b);
    });
    first_ = readers.front();
    for (Operation *reader : readers)
      for (Value operand : reader->getOperands())
        if (Operation *op = operand.getDefiningOp();
            op && step_.isBackward(op) && step_.isBefore(op, first_)) {
          gradient_ = operand;
          return true;
        }
    for (Operation *op = first_->getPrevNode(); op; op = op->getPrevNode())
      if (step_.isBackward(op)) {
        gradient_ = op->getResult(0);
        return true;
      }
    return false;
  }

  /// The ops of the segment that kept values take, in order; what crosses to
  /// later segments is there and needs none.
  SmallVector<Operation *> needed() {
    llvm::DenseSet<Operation *> wanted;
    SmallVector<Value> stack(kept_);
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      Operation *op = value.getDefiningOp();
      bool isKept = llvm::is_contained(kept_, value);
      if (op && isHere(op) && (isKept || !crosses(value)) &&
          wanted.insert(op).second)
        llvm::append_range(stack, op->getOperands());
    }
    SmallVector<Operation *> order;
    for (Operation *op : ops_)
      if (wanted.contains(op))
        order.push_back(op);
    return order;
  }

  Value late(OpBuilder &builder, Value value) {
    if (isFree(value))
      return value;
    return AfterOp::create(builder, value.getLoc(), value.getType(), value,
                           gradient_);
  }

  const Step &step_;
  llvm::SetVector<Operation *> ops_;
  SmallVector<Value> kept_;
  Operation *first_ = nullptr;
  Value gradient_;
  IRMapping mapping_;
};

//===-- the pass ----------------------------------------------------------===//

struct Recompute : impl::RecomputeBase<Recompute> {
  using Base::Base;

  void runOnOperation() override {
    if (GraphOp graph = getOperation().getGraph("train"))
      recompute(graph);
  }

  void recompute(GraphOp graph) {
    Step step(graph);
    std::vector<unsigned> segment = segmentsOf(Profile(step), segments);
    unsigned last = segment.empty() ? 0 : segment.back(), count = 0;
    for (unsigned s = 0; s < std::min<unsigned>(recomputed, last); ++s) {
      SmallVector<Operation *> ops;
      for (auto [op, of] : llvm::zip(step.model(), segment))
        if (of == s)
          ops.push_back(op);
      count += Segment(step, ops).recompute();
    }
    remark::passed(
        graph.getLoc(),
        remark::RemarkOpts::name("Recomputed").category(getArgument()))
        << std::to_string(count) << " ops of " << std::to_string(last + 1)
        << " segments are computed twice";
  }
};

} // namespace
} // namespace gradus
