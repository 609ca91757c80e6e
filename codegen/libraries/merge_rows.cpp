// Keeps rows merged into one dimension after a matmul.
//
// Exporters reshape [N, T, C] to [N T, C] before a matmul and back after it.
// This pass rewrites elementwise ops, broadcasts and reductions in between over
// [N T, C], so that a row is an item of a kernel, and no reshape prevents
// fusion.

#include "codegen/plan/nest.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"

namespace gradus {
#define GEN_PASS_DEF_MERGEROWS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;

/// Merges the first two dimensions: [a, b, ...] to [a b, ...].
SmallVector<int64_t> mergedShape(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> merged(shape.drop_front());
  merged[0] *= shape[0];
  return merged;
}

/// Whether `shape` merges to `merged`, of rank 2 or more: a vector has no rows.
bool mergesTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> merged) {
  return shape.size() >= 3 && shape[0] > 1 && shape[1] > 1 &&
         ArrayRef(mergedShape(shape)) == merged;
}

class RowMerge {
public:
  RowMerge(GraphOp graph, StringRef pass) : graph_(graph), pass_(pass) {}

  void run() {
    Block &block = graph_.getBody().front();
    for (Operation &op : llvm::reverse(block))
      if (onlyFeedsStates(&op))
        updates_.insert(&op);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      noteCheap(&op);
      visit(&op);
    }
    if (count_ == 0)
      return;
    tidy();
    remark::passed(graph_.getLoc(),
                   remark::RemarkOpts::name("Merged").category(pass_))
        << std::to_string(count_) << " ops work on rows of one dimension";
  }

private:
  void visit(Operation *op) {
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      visitReshape(reshape);
    else if (updates_.contains(op))
      return;
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      visitReduce(reduce);
    else if (isElementwise(op))
      visitElementwise(op);
  }

  /// Records reshapes that split the first dimension of a matrix, and makes
  /// reshapes of those read the matrix.
  void visitReshape(ReshapeOp op) {
    bool isView = mergesTo(shapeOf(op), shapeOf(op.getInput())) &&
                  getElementTypeOrSelf(op.getType()) ==
                      getElementTypeOrSelf(op.getInput());
    if (isView)
      merged_[op] = op.getInput();
    Value merged = merged_.lookup(op.getInput());
    if (!merged)
      return;
    if (merged.getType() == op.getType())
      op.getResult().replaceAllUsesWith(merged);
    else if (!isView)
      op.getInputMutable().assign(merged); // of the same elements
  }

  /// Whether only updates of states use the op; these keep the shape of the
  /// states, so as to run in place and many at once.
  bool onlyFeedsStates(Operation *op) const {
    return isa<WriteOp>(op) ||
           (!op->use_empty() && (isElementwise(op) || isa<ReshapeOp>(op)) &&
            llvm::all_of(op->getUsers(), [&](Operation *user) {
              return updates_.contains(user);
            }));
  }

  //===-- elementwise -----------------------------------------------------===//

  /// Merges an elementwise op if one operand is merged and no other would have
  /// to be stored for it. Remaining users read merged values through reshapes.
  void visitElementwise(Operation *op) {
    bool isWanted = false;
    for (Value operand : op->getOperands()) {
      isWanted |= merged_.contains(operand);
      if (!merged_.contains(operand) && !isCheap(operand) &&
          !isInMemory(operand))
        return;
    }
    if (!isWanted)
      return;
    OpBuilder builder(op);
    replace(op, copyMerged(builder, op));
  }

  /// Whether a value is in memory, so that it can be viewed in any shape:
  /// elementwise ops with several users, results of commands, inputs.
  static bool isInMemory(Value value) {
    Operation *op = value.getDefiningOp();
    return !op || isa<ReadOp, GatherOp>(op) ||
           isa<plan::PlanDialect>(op->getDialect()) ||
           (isElementwise(op) && !value.hasOneUse() && !drawsBits(op));
  }

  static bool drawsBits(Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value operand) {
      return operand.getDefiningOp<RandomBitsOp>();
    });
  }

  /// Whether a value can be recomputed cheaply in the merged shape: a few ops
  /// on values in memory. This is known only for values passed to noteCheap.
  bool isCheap(Value value) const {
    return !value.getDefiningOp() || splatOf(value) || cheap_.contains(value);
  }

  void noteCheap(Operation *op) {
    if (op->getNumResults() != 1)
      return;
    constexpr int mostSteps = 8;
    int steps = 0;
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      if (!hasRows(broadcast) && !hasNoRows(broadcast))
        return;
    } else if (auto iota = dyn_cast<IotaOp>(op)) {
      if (iota.getAxis() < 2)
        return;
    } else if (isElementwise(op)) {
      for (Value operand : op->getOperands()) {
        if (!isCheap(operand))
          return;
        auto found = cheap_.find(operand);
        steps = std::max(steps, found == cheap_.end() ? 1 : found->second + 1);
      }
    } else if (!isa<ReadOp, RandomBitsOp>(op)) {
      return;
    }
    if (steps <= mostSteps)
      cheap_[op->getResult(0)] = steps;
  }

  Value mergedForm(OpBuilder &builder, Value value) {
    if (Value merged = merged_.lookup(value))
      return merged;
    Operation *op = value.getDefiningOp();
    auto type = cast<RankedTensorType>(value.getType());
    auto wanted = type.clone(mergedShape(type.getShape()));
    if (TypedAttr number = splatOf(value))
      return arith::ConstantOp::create(
          builder, value.getLoc(),
          DenseElementsAttr::get(wanted, ArrayRef<Attribute>(number)));
    if (op && isCheap(value)) {
      if (auto broadcast = dyn_cast<BroadcastOp>(op))
        return broadcastMerged(builder, broadcast, wanted.getShape());
      if (auto iota = dyn_cast<IotaOp>(op))
        return IotaOp::create(builder, op->getLoc(), wanted,
                              iota.getAxis() - 1);
      if (isa<RandomBitsOp>(op) || isElementwise(op))
        return merged_[value] = copyMerged(builder, op);
    }
    return reshape(builder, value.getLoc(), value, wanted.getShape());
  }

  /// A copy of an op in the merged shape. Random bits depend on the row-major
  /// number of an element, which stays the same.
  Value copyMerged(OpBuilder &builder, Operation *op) {
    IRMapping mapping;
    if (!isa<RandomBitsOp>(op))
      for (Value operand : op->getOperands())
        mapping.map(operand, mergedForm(builder, operand));
    Value result = builder.clone(*op, mapping)->getResult(0);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    result.setType(type.clone(mergedShape(type.getShape())));
    return result;
  }

  //===-- broadcasts ------------------------------------------------------===//

  /// Whether the input has both of the merged dimensions, or neither.
  static bool hasRows(BroadcastOp op) {
    ArrayRef<int64_t> dims = op.getDimensions(), from = shapeOf(op.getInput()),
                      to = shapeOf(op);
    return dims.size() >= 2 && dims[0] == 0 && dims[1] == 1 &&
           from[0] == to[0] && from[1] == to[1];
  }
  static bool hasNoRows(BroadcastOp op) {
    return llvm::all_of(op.getDimensions(),
                        [](int64_t dim) { return dim >= 2; });
  }

  /// Broadcasts directly to the merged shape.
  Value broadcastMerged(OpBuilder &builder, BroadcastOp op,
                        ArrayRef<int64_t> shape) {
    SmallVector<int64_t> dims(op.getDimensions());
    Value input = op.getInput();
    if (hasRows(op)) {
      input = mergedForm(builder, input);
      dims.erase(dims.begin());
    }
    for (int64_t &dim : dims)
      dim = std::max<int64_t>(dim - 1, 0);
    return broadcast(builder, op.getLoc(), input, shape, dims);
  }

  //===-- reductions ------------------------------------------------------===//

  /// Handles reductions of single rows or over all rows, not over one of the
  /// two dimensions.
  void visitReduce(ReduceOp op) {
    Value merged = merged_.lookup(op.getInput());
    if (!merged)
      return;
    SmallVector<int64_t> axes(op.getAxes());
    bool first = llvm::is_contained(axes, 0),
         second = llvm::is_contained(axes, 1);
    if (first != second)
      return;
    llvm::erase(axes, 1);
    for (int64_t &axis : axes)
      axis = std::max<int64_t>(axis - 1, 0);
    OpBuilder builder(op);
    Value result = reduce(builder, op.getLoc(), op.getKind(), merged, axes);
    if (first) {
      op.getResult().replaceAllUsesWith(result);
      ++count_;
    } else {
      replace(op, result);
    }
  }

  //===-- results ---------------------------------------------------------===//

  void replace(Operation *op, Value merged) {
    OpBuilder builder(op);
    Value plain =
        reshape(builder, op->getLoc(), merged, shapeOf(op->getResult(0)));
    op->getResult(0).replaceAllUsesWith(plain);
    merged_[plain] = merged;
    ++count_;
  }

  void tidy() {
    IRRewriter rewriter(graph_.getContext());
    DominanceInfo dominance(graph_);
    eliminateCommonSubExpressions(rewriter, dominance, graph_);
    eraseUnused(graph_.getBody().front());
  }

  GraphOp graph_;
  StringRef pass_;
  /// The [a b, ...] form of each [a, b, ...] value.
  llvm::DenseMap<Value, Value> merged_;
  /// The number of steps to recompute cheap values.
  llvm::DenseMap<Value, int> cheap_;
  llvm::DenseSet<Operation *> updates_; // onlyFeedsStates
  int64_t count_ = 0;
};

struct MergeRows : impl::MergeRowsBase<MergeRows> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      RowMerge(graph, getArgument()).run();
  }
};

} // namespace
} // namespace gradus
