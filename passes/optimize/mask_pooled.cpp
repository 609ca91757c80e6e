// Moves masks behind the gradients of max pools before them: there are fewer
// elements.
//
// Runs before code generation, which computes gradients of a convolution from
// the pooled elements alone if nothing stands between the pool and it.

#include "ir/arithmetic.h"
#include "ir/window.h"
#include "passes/passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_MASKPOOLED
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The number that fills a constant, in the shape of `like`.
Value sameNumber(OpBuilder &builder, Value constant, Value like) {
  DenseElementsAttr elements;
  if (!matchPattern(constant, m_Constant(&elements)) || !elements.isSplat())
    return {};
  auto type = cast<RankedTensorType>(like.getType())
                  .clone(elements.getType().getElementType());
  return arith::ConstantOp::create(
      builder, constant.getLoc(),
      DenseElementsAttr::get(type, elements.getSplatValue<Attribute>()));
}

/// Whether a constant has zeros alone.
bool isZero(Value value) { return matchPattern(value, m_AnyZeroFloat()); }

struct MaskPooledPass : impl::MaskPooledBase<MaskPooledPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<MaxPoolBackwardOp> ops;
    getOperation()->walk([&](MaxPoolBackwardOp op) { ops.push_back(op); });
    for (MaxPoolBackwardOp op : ops) {
      if (auto pool = poolOf<MaxPoolOp>(op)) {
        maskEarly(op, pool);
        sumEarly(op);
      }
    }
  }

  /// Masks the pooled gradient if the gradient's one use masks it by a
  /// comparison of the pool's input with a number.
  void maskEarly(MaxPoolBackwardOp op, MaxPoolOp pool) {
    if (!op->hasOneUse())
      return;
    auto select = dyn_cast<arith::SelectOp>(*op->user_begin());
    if (!select || select.getTrueValue() != op.getResult() ||
        !isZero(select.getFalseValue()))
      return;
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getLhs() != pool.getInput())
      return;
    OpBuilder builder(op);
    Value number = sameNumber(builder, compare.getRhs(), pool.getResult());
    if (!number)
      return;
    Arithmetic a{builder, select.getLoc()};
    Value gradient = op.getGradient();
    Value masked =
        a.select(a.compare(compare.getPredicate(), pool.getResult(), number),
                 gradient, a.number(0, gradient));
    op.getGradientMutable().assign(masked);
    select.replaceAllUsesWith(op.getResult());
    select.erase();
    told(op, "masked");
  }

  /// Sums the pooled gradient instead of what it is sent to.
  void sumEarly(MaxPoolBackwardOp op) {
    int64_t rank = op.getType().getRank();
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto sum = dyn_cast<ReduceOp>(user);
      if (!sum || sum.getKind() != Reduction::sum ||
          !llvm::all_of(llvm::seq<int64_t>(2, rank), [&](int64_t axis) {
            return llvm::is_contained(sum.getAxes(), axis);
          }))
        continue;
      sum.getInputMutable().assign(op.getGradient());
      told(sum, "summed");
    }
  }

  void told(Operation *op, StringRef what) {
    remark::passed(
        op->getLoc(),
        remark::RemarkOpts::name("MaskedPooled").category(getArgument()))
        << ("the gradient of a max pool is " + what +
            " before its elements get it")
               .str();
  }
};

} // namespace
} // namespace gradus
