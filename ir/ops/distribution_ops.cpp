// Collectives: verification, gradients, what one rank computes, and what none
// needs.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gradus;

LogicalResult AllReduceOp::verify() {
  if (getOperands().empty())
    return emitOpError("has no operands, expected at least one");
  if (getOperands().getTypes() != getResults().getTypes())
    return emitOpError("has results of other types than its operands");
  for (Type type : getOperands().getTypes())
    if (Type element = cast<RankedTensorType>(type).getElementType();
        !isa<FloatType>(element) && !element.isSignlessInteger(64))
      return emitOpError("sums ") << element << ", expected floats or i64";
  if (auto names = getOf(); names && names->size() != getNumOperands())
    return emitOpError("names ") << names->size() << " parameters for "
                                 << getNumOperands() << " operands";
  return success();
}

StringRef AllReduceOp::getParameter(unsigned operand) {
  auto names = getOf();
  return names ? cast<StringAttr>((*names)[operand]).getValue() : StringRef();
}

void AllReduceOp::setParameters(ArrayRef<StringRef> names) {
  bool any = llvm::any_of(names, [](StringRef name) { return !name.empty(); });
  setOfAttr(any ? Builder(getContext()).getStrArrayAttr(names) : ArrayAttr());
}

namespace {

/// Leaves out operands whose sums nothing uses, such as those of a backward
/// pass that gradient freezing has cut. The program is the same on every rank,
/// so all of them leave them out.
struct DropUnused : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> used;
    SmallVector<StringRef> names;
    for (OpResult result : op.getResults())
      if (!result.use_empty()) {
        used.push_back(op.getOperand(result.getResultNumber()));
        names.push_back(op.getParameter(result.getResultNumber()));
      }
    if (used.size() == op.getNumOperands())
      return failure();
    if (used.empty()) {
      rewriter.eraseOp(op);
      return success();
    }
    auto sums = AllReduceOp::create(rewriter, op.getLoc(), used);
    sums.setAxis(op.getAxis());
    sums.setParameters(names);
    unsigned next = 0;
    for (OpResult result : op.getResults())
      if (!result.use_empty())
        rewriter.replaceAllUsesWith(result, sums.getResult(next++));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void AllReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropUnused>(context);
}

/// An operand is in the losses of all ranks, so it gets the sum of their
/// gradients.
SmallVector<Value> AllReduceOp::pullback(OpBuilder &builder, ValueRange g) {
  SmallVector<Value> known;
  for (Value gradient : g)
    if (gradient)
      known.push_back(gradient);
  auto sums = AllReduceOp::create(builder, getLoc(), known);
  sums.setAxis(getAxis());
  SmallVector<Value> gradients;
  unsigned next = 0;
  for (Value gradient : g)
    gradients.push_back(gradient ? sums.getResult(next++) : Value());
  return gradients;
}

FailureOr<SmallVector<HostTensor>>
AllReduceOp::evaluate(ArrayRef<HostTensor> operands) {
  return SmallVector<HostTensor>(operands);
}

/// Every rank sends all but its own part of the operands, and then its part of
/// the sums to all others.
double AllReduceOp::getSentBytes(int64_t ranks) {
  double bytes = 0;
  for (Type type : getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes +=
        double(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8;
  }
  return 2 * bytes * (ranks - 1) / ranks;
}

/// A message has elements of one type.
bool AllReduceOp::mayJoin(Operation *other) {
  auto sum = dyn_cast<AllReduceOp>(other);
  return sum && sum.getAxis() == getAxis() &&
         getElementTypeOrSelf(sum.getOperand(0)) ==
             getElementTypeOrSelf(getOperand(0));
}
