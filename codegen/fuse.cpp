// Joins nests, so that values pass through registers and not through memory.
//
// What may be joined stands in fuse_nests.cpp; here is what should be, in steps
// from the surest gain to the least sure.

#include "codegen/fuse.h"

#include "codegen/nest_cost.h"
#include "codegen/passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace gradus {
#define GEN_PASS_DEF_FUSE
#include "codegen/passes.h.inc"

namespace {
using namespace mlir;
using plan::NestOp;

/// Whether all that is computed from an op ends in new values of states.
bool onlyFeedsStates(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    auto nest = dyn_cast<NestOp>(user);
    return isa<WriteOp>(user) ||
           (((nest && nest.isElementwise()) || isa<ReshapeOp>(user)) &&
            onlyFeedsStates(user));
  });
}

bool hasGuards(NestOp nest) {
  return llvm::any_of(nest.getGuards(),
                      [](Attribute guard) { return !isa<UnitAttr>(guard); });
}

/// The nests among the users of an op, each once.
SmallVector<NestOp> nestsUsing(Operation *op) {
  llvm::SmallSetVector<Operation *, 4> users;
  for (Operation *user : op->getUsers())
    if (isa<NestOp>(user))
      users.insert(user);
  SmallVector<NestOp> nests;
  for (Operation *user : users)
    nests.push_back(cast<NestOp>(user));
  llvm::sort(nests, [](NestOp a, NestOp b) { return a->isBeforeInBlock(b); });
  return nests;
}

/// Points at which `consumer` would compute `producer`.
int64_t pointsAsked(NestOp consumer, NestOp producer) {
  NestParts parts = partsOf(consumer);
  auto asks = [&](const NestRead &read) {
    return read.value.getDefiningOp() == producer.getOperation();
  };
  return llvm::count_if(parts.mapReads, asks) * product(consumer.getExtents()) +
         llvm::count_if(parts.thenReads, asks) * product(consumer.getParallel());
}

class GraphFusion {
public:
  GraphFusion(GraphOp graph, StringRef pass)
      : graph_(graph), block_(graph.getBody().front()), pass_(pass) {}

  void run() {
    cleanUp();
    readThroughReshapes();
    inlineMoves();
    cleanUp();
    mergeConsumers();
    cleanUp();
    inlineComputations();
    mergeSiblingNests();
    cleanUp();
    foldScalars();
    explainRest();
  }

private:
  SmallVector<NestOp> nests() { return llvm::to_vector(block_.getOps<NestOp>()); }

  /// Order, equal nests once, nothing that nobody needs.
  void cleanUp() {
    sortTopologically(&block_);
    IRRewriter rewriter(graph_.getContext());
    DominanceInfo dominance(graph_);
    eliminateCommonSubExpressions(rewriter, dominance, graph_);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block_)))
      if (op.use_empty() && (isa<NestOp, ReshapeOp>(op) || isa<arith::ConstantOp>(op)))
        op.erase();
      else if (auto nest = dyn_cast<NestOp>(op))
        dropUnused(nest);
  }

  void readThroughReshapes() {
    for (auto reshape : llvm::make_early_inc_range(block_.getOps<ReshapeOp>())) {
      readThroughReshape(reshape);
      if (reshape->use_empty())
        reshape.erase();
    }
  }

  /// Transposes, broadcasts, constants and indices cost nothing where they are
  /// used, but a contraction should not compute or ask for guards.
  void inlineMoves() {
    for (Operation *op = &block_.front(); op;) {
      Operation *next = op->getNextNode();
      auto producer = dyn_cast<NestOp>(op);
      if (producer && isMove(producer))
        for (NestOp consumer : nestsUsing(producer))
          if (canInline(consumer, producer) && isReadPlainly(consumer, producer)) {
            bool isNext = consumer == next;
            NestOp joined = inlineProducer(consumer, producer);
            inlined(joined, "moves of elements");
            next = isNext ? joined.getOperation() : next;
          }
      op = next;
    }
  }

  static bool isReadPlainly(NestOp consumer, NestOp producer) {
    bool readsOnly = llvm::all_of(producer.getThen().front(),
                                  [](Operation &op) { return isa<plan::YieldOp>(op); });
    return !isContraction(consumer) || (readsOnly && !hasGuards(producer));
  }

  /// Elementwise work is done where its operands come to be: bias, activation
  /// and residual behind a contraction, several results at once.
  void mergeConsumers() {
    for (Operation *op = &block_.front(); op;) {
      Operation *next = op->getNextNode();
      if (auto producer = dyn_cast<NestOp>(op))
        for (NestOp consumer : nestsUsing(producer)) {
          bool isNext = consumer == next;
          NestOp merged = tryMerge(producer, consumer);
          if (!merged)
            continue;
          next = isNext ? merged.getOperation() : next;
          break;
        }
      op = next;
    }
  }

  NestOp tryMerge(NestOp producer, NestOp consumer) {
    if (!isWanted(producer, consumer))
      return {};
    NestOp merged = mergeConsumer(producer, consumer).nest;
    if (merged)
      inlined(merged, "elementwise work behind its producer");
    return merged;
  }

  /// Updates of states stay apart from what computes their gradients: all of
  /// them run as one launch of one kernel.
  static bool isWanted(NestOp producer, NestOp consumer) {
    return !onlyFeedsStates(consumer) || onlyFeedsStates(producer);
  }

  /// Elementwise work whose only readers can do it themselves, and not more
  /// often than it is done now unless it is cheap.
  void inlineComputations() {
    auto all = nests();
    for (NestOp producer : llvm::reverse(all))
      if (shouldInlineEverywhere(producer)) {
        for (NestOp consumer : nestsUsing(producer))
          inlined(inlineProducer(consumer, producer), "elementwise work before a reduction");
        producer.erase();
      }
  }

  static bool shouldInlineEverywhere(NestOp producer) {
    if (!producer.isElementwise() || producer->use_empty())
      return false;
    int64_t asked = 0;
    for (Operation *user : producer->getUsers()) {
      auto consumer = dyn_cast<NestOp>(user);
      if (!consumer || isContraction(consumer) || !canInline(consumer, producer))
        return false;
    }
    for (NestOp consumer : nestsUsing(producer))
      asked += pointsAsked(consumer, producer);
    int64_t times = isMove(producer) ? asked : isCheap(producer) ? 2 : 1;
    return asked <= times * product(producer.getParallel());
  }

  /// Reductions and elementwise work over the same elements read them once.
  void mergeSiblingNests() {
    for (bool changed = true; changed;) {
      changed = false;
      for (NestOp first : nests())
        if (NestOp second = siblingOf(first)) {
          inlined(mergeSiblings(first, second).nest, "nests over the same elements");
          changed = true;
          break;
        }
    }
  }

  static NestOp siblingOf(NestOp first) {
    if (isContraction(first))
      return {};
    for (Value operand : first->getOperands())
      for (Operation *user : operand.getUsers()) {
        auto second = dyn_cast<NestOp>(user);
        if (second && second != first && !isContraction(second) &&
            first->isBeforeInBlock(second) && readsAll(first, operand) &&
            onlyFeedsStates(first) == onlyFeedsStates(second) &&
            first.getParallel() == second.getParallel() &&
            first.getReduced() == second.getReduced() && !dependsOn(second, first) &&
            !dependsOn(first, second))
          return second;
      }
    return {};
  }

  /// Whether the nest has a point for each element, so that sharing the read
  /// is worth something.
  static bool readsAll(NestOp nest, Value value) {
    return product(nest.getExtents()) == product(shapeOf(value));
  }

  /// Folds the scalar code that has come together.
  void foldScalars() {
    for (NestOp nest : nests()) {
      if (!nest.getMap().empty())
        (void)applyPatternsGreedily(nest.getMap(), FrozenRewritePatternSet());
      (void)applyPatternsGreedily(nest.getThen(), FrozenRewritePatternSet());
    }
  }

  void inlined(NestOp nest, StringRef what) {
    remark::passed(nest.getLoc(), remark::RemarkOpts::name("Fused").category(pass_))
        << "joined " << what;
  }

  /// Says of elementwise nests why they stand apart from what they read.
  void explainRest() {
    for (NestOp producer : nests())
      for (NestOp consumer : nestsUsing(producer))
        if (consumer.isElementwise())
          remark::missed(consumer.getLoc(),
                         remark::RemarkOpts::name("NotFused").category(pass_))
              << "elementwise work stays apart from a nest it reads: "
              << reasonApart(producer, consumer);
  }

  static StringRef reasonApart(NestOp producer, NestOp consumer) {
    if (!isWanted(producer, consumer))
      return "updates of states are launched together";
    if (product(producer.getParallel()) != product(consumer.getParallel()))
      return "it runs over other points";
    return "its points are others, or something between needs the one and feeds "
           "the other";
  }

  GraphOp graph_;
  Block &block_;
  StringRef pass_;
};

struct Fuse : impl::FuseBase<Fuse> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      GraphFusion(graph, getArgument()).run();
  }
};

} // namespace
} // namespace gradus
