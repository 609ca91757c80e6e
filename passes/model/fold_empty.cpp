// Replaces what is computed of tensors without elements by constants.
//
// Runs before all passes that change the program, so that none of them, and no
// kernel, divides by a size of 0.

#include "passes/passes.h"

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"
#include "ir/traits.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace gradus {
#define GEN_PASS_DEF_FOLDEMPTY
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

bool isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 0;
}

/// Returns the elements of a value that has none or is a constant; of others it
/// fails.
FailureOr<HostTensor> known(Value value) {
  if (isEmpty(value))
    return zeros(tensorType(value));
  ElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)))
    return toHost(elements);
  return failure();
}

FailureOr<SmallVector<HostTensor>> knownOperands(Operation *op) {
  SmallVector<HostTensor> all;
  for (Value operand : op->getOperands()) {
    FailureOr<HostTensor> one = known(operand);
    if (failed(one))
      return failure();
    all.push_back(std::move(*one));
  }
  return all;
}

/// How many elements an op makes, which the evaluator does slowly.
int64_t elementsMadeBy(Operation *op) {
  int64_t count = 0;
  for (Value result : op->getResults())
    count += tensorType(result).getNumElements();
  return count;
}

/// Writes one number for equal ones: most results are the same everywhere.
DenseElementsAttr compact(DenseElementsAttr elements) {
  if (elements.empty() || elements.isSplat())
    return elements;
  auto values = elements.getValues<Attribute>();
  Attribute first = *values.begin();
  return llvm::all_of(values, [&](Attribute value) { return value == first; })
             ? DenseElementsAttr::get(elements.getType(), first)
             : elements;
}

struct FoldEmptyPass : impl::FoldEmptyBase<FoldEmptyPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walked = getOperation().walk([&](Operation *op) {
      return failed(fold(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

private:
  /// Folds an op whose operands and regions are folded. Tensors that are put
  /// beside others may have no elements.
  LogicalResult fold(Operation *op) {
    if (op->getNumResults() == 0 || !isMemoryEffectFree(op) ||
        op->hasTrait<OpTrait::ConstantLike>())
      return success();
    bool makesEmpty = llvm::any_of(op->getResults(), isEmpty);
    if (makesEmpty)
      replaceEmpty(op);
    if (makesEmpty && op->use_empty())
      return op->erase(), success();
    bool puts = op->hasTrait<MovesElements>() && !movesOneOperand(op);
    if (puts || llvm::none_of(op->getOperands(), isEmpty))
      return success();
    return evaluate(op);
  }

  void replaceEmpty(Operation *op) {
    OpBuilder builder(op);
    for (Value result : op->getResults())
      if (isEmpty(result) && !result.use_empty())
        replace(builder, result, zeros(tensorType(result)));
  }

  LogicalResult evaluate(Operation *op) {
    FailureOr<SmallVector<HostTensor>> operands = knownOperands(op);
    if (failed(operands) || !isa<Evaluable>(op))
      return op->emitOpError("computes with a tensor that has no elements, "
                             "which is not supported");
    constexpr int64_t kMost = int64_t(1) << 24;
    if (int64_t count = elementsMadeBy(op); count > kMost)
      return op->emitOpError("makes ")
             << count << " elements of none, which is not supported";
    auto results = evaluateOp(op, *operands);
    if (failed(results))
      return failure();
    OpBuilder builder(op);
    for (auto [result, values] : llvm::zip_equal(op->getResults(), *results))
      replace(builder, result, values);
    op->erase();
    return success();
  }

  void replace(OpBuilder &builder, Value result, const HostTensor &values) {
    RankedTensorType type = tensorType(result);
    Location location = result.getLoc();
    remark::passed(
        location,
        remark::RemarkOpts::name("FoldedEmpty").category(getArgument()))
        << result.getDefiningOp()->getName().getStringRef()
        << " computes with no elements: its result is a constant";
    result.replaceAllUsesWith(arith::ConstantOp::create(
        builder, location, compact(toElements(values, type))));
  }
};

} // namespace
} // namespace gradus
