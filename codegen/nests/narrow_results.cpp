// Stores results that were just widened from 16 bits in 16 bits; their users
// widen them.

#include "codegen/nests/from_narrow.h"
#include "codegen/nests/fuse.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace gradus {
#define GEN_PASS_DEF_NARROWRESULTS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::NestOp;

/// Whether a user should widen the value: contractions would do so for each
/// read of an element.
bool canWiden(Operation *reader) {
  auto nest = dyn_cast<NestOp>(reader);
  return nest && !isContraction(nest);
}

/// The widening that defines a result, if all its users can do that.
arith::ExtFOp wideningOf(OpResult result) {
  auto widening = yieldedFor(result).getDefiningOp<arith::ExtFOp>();
  bool isRead = widening && !result.use_empty() &&
                llvm::all_of(result.getUsers(), canWiden);
  return isRead ? widening : arith::ExtFOp();
}

/// The block argument of an operand in the nest that uses it.
BlockArgument scalarOf(OpOperand &use) {
  auto nest = cast<NestOp>(use.getOwner());
  unsigned number = use.getOperandNumber(), maps = nest.getMapInputs().size();
  return number < maps ? nest.getMap().getArgument(number)
                       : nest.getThen().getArgument(nest.getCombine().size() +
                                                    number - maps);
}

/// Reads the operand in the narrow type and widens it.
void widenIn(OpOperand &use, Type narrow) {
  BlockArgument scalar = scalarOf(use);
  Type wide = scalar.getType();
  scalar.setType(narrow);
  auto builder = OpBuilder::atBlockBegin(scalar.getOwner());
  auto widened =
      arith::ExtFOp::create(builder, use.getOwner()->getLoc(), wide, scalar);
  scalar.replaceAllUsesExcept(widened, widened);
}

/// Folds scalar code: users may round what they now widen.
void foldScalars(NestOp nest) {
  FrozenRewritePatternSet none;
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (!nest.getMap().empty())
    (void)applyPatternsGreedily(nest.getMap(), none, config);
  (void)applyPatternsGreedily(nest.getThen(), none, config);
}

struct NarrowResults : impl::NarrowResultsBase<NarrowResults> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (auto nest :
           llvm::make_early_inc_range(graph.getBody().front().getOps<NestOp>()))
        visit(nest);
  }

private:
  void visit(NestOp nest) {
    llvm::SmallSetVector<Operation *, 4> readers;
    for (OpResult result : nest->getResults())
      if (arith::ExtFOp widening = wideningOf(result)) {
        readers.insert(result.user_begin(), result.user_end());
        narrow(result, widening);
      }
    if (readers.empty())
      return;
    remark::passed(nest.getLoc(),
                   remark::RemarkOpts::name("Narrowed").category(getArgument()))
        << "results are stored before they are widened";
    for (Operation *reader : readers)
      foldScalars(cast<NestOp>(reader));
    dropUnused(nest);
  }

  void narrow(OpResult result, arith::ExtFOp widening) {
    Value number = widening.getIn();
    for (OpOperand &use : result.getUses())
      widenIn(use, number.getType());
    auto yield = yieldOf(result);
    yield->setOperand(result.getResultNumber(), number);
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone(number.getType()));
    if (Value same = sameNumbers(result, number))
      result.replaceAllUsesWith(same);
    if (widening->use_empty())
      widening.erase();
  }

  static Operation *yieldOf(OpResult result) {
    auto nest = cast<NestOp>(result.getOwner());
    return nest.getThen().front().getTerminator();
  }
};

} // namespace
} // namespace gradus
