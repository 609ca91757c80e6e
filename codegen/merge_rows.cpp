// Lets what stands behind a product of matrices keep its rows in one dimension.
//
// Exporters take [N, T, C] to [N T, C] before a product and back behind it.
// Here elementwise work, broadcasts and reductions between are written again
// over [N T, C], so that a row is an item of a kernel, and no view stands
// between what fusion could join.

#include "codegen/nest.h"
#include "codegen/passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"

namespace gradus {
#define GEN_PASS_DEF_MERGEROWS
#include "codegen/passes.h.inc"

namespace {
using namespace mlir;

/// [a, b, ...] as [a b, ...].
SmallVector<int64_t> mergedShape(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> merged(shape.drop_front());
  merged[0] *= shape[0];
  return merged;
}

/// Whether `shape` merges to `merged`.
bool mergesTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> merged) {
  return shape.size() >= 2 && shape[0] > 1 && shape[1] > 1 &&
         ArrayRef(mergedShape(shape)) == merged;
}

class RowMerge {
public:
  RowMerge(GraphOp graph, StringRef pass) : graph_(graph), pass_(pass) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(graph_.getBody().front()))
      visit(&op);
    tidy();
    if (count_ > 0)
      remark::passed(graph_.getLoc(),
                     remark::RemarkOpts::name("Merged").category(pass_))
          << std::to_string(count_) << " ops work on rows of one dimension";
  }

private:
  void visit(Operation *op) {
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      visitReshape(reshape);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      visitReduce(reduce);
    else if (isElementwise(op))
      visitElementwise(op);
  }

  void visitReshape(ReshapeOp op) {
    if (Value merged = merged_.lookup(op.getInput())) {
      if (merged.getType() == op.getType()) {
        op.getResult().replaceAllUsesWith(merged);
        return;
      }
      op.getInputMutable().assign(merged); // a view of the same elements
    }
    if (mergesTo(shapeOf(op), shapeOf(op.getInput())))
      merged_[op] = op.getInput();
  }

  //===-- elementwise -----------------------------------------------------===//

  static bool isElementwise(Operation *op) {
    return op->getNumResults() == 1 && op->getNumOperands() > 0 &&
           isMemoryEffectFree(op) &&
           (isa<Elementwise>(op) || op->hasTrait<OpTrait::Elementwise>()) &&
           llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  }

  void visitElementwise(Operation *op) {
    if (!llvm::any_of(op->getOperands(),
                      [&](Value operand) { return merged_.count(operand); }))
      return;
    OpBuilder builder(op);
    replace(op, copyMerged(builder, op));
  }

  /// Whether a value is as cheap to make in the merged shape: of what is there
  /// in any shape, elementwise.
  bool isMadeMerged(Value value) {
    if (auto known = isMade_.find(value); known != isMade_.end())
      return known->second;
    bool isMade = findMadeMerged(value);
    isMade_[value] = isMade;
    return isMade;
  }

  bool findMadeMerged(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || merged_.count(value) || splatOf(value) || isa<ReadOp>(op))
      return true;
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      return hasRows(broadcast) || hasNoRows(broadcast);
    if (auto iota = dyn_cast<IotaOp>(op))
      return iota.getAxis() >= 2;
    return isElementwise(op) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isMadeMerged(operand); });
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
    if (op && isMadeMerged(value)) {
      if (auto broadcast = dyn_cast<BroadcastOp>(op))
        return broadcastMerged(builder, broadcast, wanted.getShape());
      if (auto iota = dyn_cast<IotaOp>(op))
        return IotaOp::create(builder, op->getLoc(), wanted,
                              iota.getAxis() - 1);
      if (isElementwise(op))
        return merged_[value] = copyMerged(builder, op);
    }
    return reshape(builder, value.getLoc(), value, wanted.getShape());
  }

  /// A copy of an elementwise op in the merged shape.
  Value copyMerged(OpBuilder &builder, Operation *op) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, mergedForm(builder, operand));
    Value result = builder.clone(*op, mapping)->getResult(0);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    result.setType(type.clone(mergedShape(type.getShape())));
    return result;
  }

  //===-- broadcasts ------------------------------------------------------===//

  /// Whether it repeats what has both of the dimensions, or neither.
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

  /// Straight into the merged shape.
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

  /// Of rows, or of all of them; not of one of the two dimensions.
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
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(graph_.getBody().front())))
      if (op.use_empty() && isMemoryEffectFree(&op) &&
          !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

  GraphOp graph_;
  StringRef pass_;
  /// Of [a, b, ...] the same elements as [a b, ...].
  llvm::DenseMap<Value, Value> merged_;
  llvm::DenseMap<Value, bool> isMade_; // isMadeMerged, so that it asks once
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
