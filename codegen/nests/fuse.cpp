// Fuses nests, so that values pass through registers instead of memory.
//
// fuse_nests.cpp decides what may be fused; this file decides what should be,
// in steps from the surest gain to the least sure.

#include "codegen/nests/fuse.h"

#include "codegen/nests/from_narrow.h"
#include "codegen/nests/makers.h"
#include "codegen/nests/order.h"
#include "codegen/nests/sums_around.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace gradus {
#define GEN_PASS_DEF_FUSE
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::NestOp;

/// The nests and reshapes whose results are used only, element by element, in
/// new values of states.
class StateFeeders {
public:
  /// Visits the ops in reverse: all users of an op are known before it. Fusing
  /// two nests that both belong here, or both do not, does not change the
  /// others.
  explicit StateFeeders(Block &sorted) {
    for (Operation &op : llvm::reverse(sorted))
      if (llvm::all_of(op.getUsers(), [&](Operation *user) {
            return isa<WriteOp>(user) ||
                   (isElementwise(user) && feeders_.contains(user));
          }))
        feeders_.insert(&op);
  }

  bool contains(Operation *op) const { return feeders_.contains(op); }

  /// Records a nest that replaces others.
  void set(NestOp joined, bool isFeeder) {
    if (isFeeder)
      feeders_.insert(joined);
    else
      feeders_.erase(joined);
  }

private:
  static bool isElementwise(Operation *op) {
    auto nest = dyn_cast<NestOp>(op);
    return isa<ReshapeOp>(op) || (nest && nest.isElementwise());
  }

  llvm::DenseSet<Operation *> feeders_;
};

bool makesWideNumbers(NestOp nest) {
  return nest.isElementwise() && !nest->use_empty() &&
         llvm::all_of(nest.getResultTypes(), [](Type type) {
           return getElementTypeOrSelf(type).isF64();
         });
}

/// Whether a nest computes f64 numbers that only reductions use: each of them
/// computes these itself, so that the wide numbers are never stored.
bool isWideForSums(NestOp nest) {
  SmallVector<NestOp> stack = {nest};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!stack.empty()) {
    NestOp wide = stack.pop_back_val();
    if (!makesWideNumbers(wide))
      return false;
    for (Operation *user : wide->getUsers()) {
      auto reader = dyn_cast<NestOp>(user);
      if (!reader || !canInline(reader, wide))
        return false;
      if (reader.isElementwise() && seen.insert(user).second)
        stack.push_back(reader);
    }
  }
  return true;
}

/// The work of one point, which also measures the size of the code.
int64_t workOf(NestOp nest) {
  return costOf(nest.getMap()).work + costOf(nest.getThen()).work;
}

/// The number of tensors that two nests read together.
int64_t readsOf(NestOp first, NestOp second) {
  llvm::SmallDenseSet<Value, 16> reads;
  reads.insert(first->operand_begin(), first->operand_end());
  reads.insert(second->operand_begin(), second->operand_end());
  return reads.size();
}

bool hasGuards(NestOp nest) {
  return llvm::any_of(nest.getGuards(),
                      [](Attribute guard) { return !isa<UnitAttr>(guard); });
}

/// Whether a nest has so few points that joining it to another saves little.
bool hasFewPoints(NestOp nest) {
  constexpr int64_t kFewPoints = 4096;
  return product(nest.getExtents()) <= kFewPoints;
}

/// The number of points at which `consumer` would compute `producer`.
int64_t pointsAsked(NestOp consumer, NestOp producer) {
  NestParts parts = partsOf(consumer);
  auto asks = [&](const NestRead &read) {
    return read.value.getDefiningOp() == producer.getOperation();
  };
  return llvm::count_if(parts.mapReads, asks) * product(consumer.getExtents()) +
         llvm::count_if(parts.thenReads, asks) *
             product(consumer.getParallel());
}

class GraphFusion {
public:
  GraphFusion(GraphOp graph, const FuseOptions &options, StringRef pass)
      : graph_(graph), block_(graph.getBody().front()), options_(options),
        pass_(pass) {}

  void run() {
    cleanUp();
    readThroughReshapes();
    inlineMoves();
    cleanUp();
    inlineWhatIsCheap();
    cleanUp();
    mergeConsumers();
    cleanUp();
    inlineComputations();
    mergeSiblingNests();
    cleanUp();
    if (options_.workAgain > 0) {
      computeAgain();
      computeOfNarrow();
    }
    foldScalars();
    explainRest();
    remark::analysis(graph_.getLoc(),
                     remark::RemarkOpts::name("Walked").category(pass_))
        << std::to_string(steps_ + needs_.steps())
        << " steps from ops to what they need";
  }

private:
  SmallVector<NestOp> nests() {
    return llvm::to_vector(block_.getOps<NestOp>());
  }

  /// Numbers the ops in their order. MLIR would renumber after every second
  /// fused nest, as that leaves no number free between its neighbours.
  void number() { places_ = placesIn(block_); }

  /// Records which ops depend on which, by new numbers, and which feed states.
  void relate() {
    number();
    steps_ += needs_.steps();
    needs_ =
        Needs(makersIn(block_, places_, [](Value operand) { return operand; }));
    feeders_.emplace(block_);
    sums_ = SumsAround(block_);
  }

  /// Whether one nest of both would make sums over ranks wait, or what needs
  /// them, for little: the number of labels for the loss, or all updates for
  /// the mean of the loss.
  bool delaysSums(NestOp first, NestOp second) const {
    return hasFewPoints(first) && !sums_.agree(first, second);
  }

  bool isNeeded(NestOp op, NestOp by) {
    return needs_.isNeeded(places_.at(op), places_.at(by));
  }

  bool isBefore(Operation *a, Operation *b) const {
    return places_.at(a) < places_.at(b);
  }

  /// The nests among the users of an op, without duplicates, in order.
  SmallVector<NestOp> nestsUsing(Operation *op) const {
    llvm::SmallSetVector<Operation *, 4> users;
    for (Operation *user : op->getUsers())
      if (isa<NestOp>(user))
        users.insert(user);
    SmallVector<NestOp> nests;
    for (Operation *user : users)
      nests.push_back(cast<NestOp>(user));
    llvm::sort(nests, [&](NestOp a, NestOp b) { return isBefore(a, b); });
    return nests;
  }

  /// Whether the fused body would be too long or, above all, have too many
  /// loads: LLVM's time grows faster than its size, and registers run out.
  bool isTooMuch(NestOp first, NestOp second) const {
    return workOf(first) + workOf(second) > options_.mostWork ||
           readsOf(first, second) > options_.mostReads;
  }

  /// Sorts the ops, merges equal nests, and erases unused ones.
  void cleanUp() {
    sortByOperands(block_);
    IRRewriter rewriter(graph_.getContext());
    DominanceInfo dominance(graph_);
    eliminateCommonSubExpressions(rewriter, dominance, graph_);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block_)))
      if (op.use_empty() &&
          (isa<NestOp, ReshapeOp>(op) || op.hasTrait<OpTrait::ConstantLike>()))
        op.erase();
      else if (auto nest = dyn_cast<NestOp>(op))
        dropUnused(nest);
  }

  void readThroughReshapes() {
    for (auto reshape :
         llvm::make_early_inc_range(block_.getOps<ReshapeOp>())) {
      readThroughReshape(reshape);
      if (reshape->use_empty())
        reshape.erase();
    }
  }

  /// Transposes, broadcasts, constants and indices are free at their uses, but
  /// a contraction should not compute or evaluate guards.
  void inlineMoves() {
    forEachNest([&](NestOp producer, Operation *&next) {
      if (isMove(producer))
        inlineIn(producer, next, "moves of elements", [&](NestOp consumer) {
          return canInline(consumer, producer) &&
                 isReadPlainly(consumer, producer);
        });
    });
  }

  /// Visits nests in order, including those inserted after the current one.
  void forEachNest(llvm::function_ref<void(NestOp, Operation *&next)> visit) {
    number();
    for (Operation *op = &block_.front(); op;) {
      Operation *next = op->getNextNode();
      if (auto nest = dyn_cast<NestOp>(op))
        visit(nest, next);
      op = next;
    }
  }

  /// Inlines a nest into the consumers that `wants` accepts; `next` stays
  /// valid.
  void inlineIn(NestOp producer, Operation *&next, StringRef what,
                llvm::function_ref<bool(NestOp)> wants) {
    for (NestOp consumer : nestsUsing(producer)) {
      if (!wants(consumer))
        continue;
      bool isNext = consumer == next;
      unsigned place = places_.at(consumer);
      NestOp joined = inlineProducer(consumer, producer);
      inlined(joined, place, what);
      next = isNext ? joined.getOperation() : next;
    }
  }

  static bool isReadPlainly(NestOp consumer, NestOp producer) {
    bool readsOnly =
        llvm::all_of(producer.getThen().front(),
                     [](Operation &op) { return isa<plan::YieldOp>(op); });
    return !isContraction(consumer) ||
           (readsOnly && !hasGuards(producer) && !producer.getKept());
  }

  /// Inlines cheap computations on values that are in memory anyway: the
  /// derivatives of tanh and relu, one-hot labels, logits minus their maximum.
  void inlineWhatIsCheap() {
    forEachNest([&](NestOp producer, Operation *&next) {
      if (producer->use_empty() || !readsMemory(producer) ||
          (!isCheap(producer) && !isWorthTwice(producer)))
        return;
      if (llvm::all_of(producer->getUsers(), [&](Operation *user) {
            auto consumer = dyn_cast<NestOp>(user);
            return consumer && canInlineOnce(consumer, producer);
          }))
        inlineIn(producer, next, "cheap work on what is in memory",
                 [](NestOp) { return true; });
    });
  }

  /// Whether repeating more than cheap work is faster on the device than
  /// storing and loading the results. In f64 it never is.
  bool isWorthTwice(NestOp producer) const {
    int64_t asked = 0;
    for (NestOp consumer : nestsUsing(producer))
      asked += pointsAsked(consumer, producer);
    auto isWide = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
    return producer.isElementwise() && workOf(producer) <= options_.workTwice &&
           asked <= 2 * product(producer.getParallel()) &&
           readsNoMore(producer) &&
           llvm::none_of(producer->getOperandTypes(), isWide) &&
           llvm::none_of(producer->getResultTypes(), isWide);
  }

  /// Whether the consumer would compute each element at most once per read.
  bool canInlineOnce(NestOp consumer, NestOp producer) const {
    int64_t reads = llvm::count_if(consumer->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() == producer.getOperation();
    });
    return canInline(consumer, producer) && !isTooMuch(consumer, producer) &&
           !feedsContraction(consumer, producer) &&
           pointsAsked(consumer, producer) <=
               reads * product(producer.getParallel());
  }

  static bool feedsContraction(NestOp consumer, NestOp producer) {
    return isContraction(consumer) &&
           llvm::any_of(consumer.getMapInputs(), [&](Value input) {
             return input.getDefiningOp() == producer.getOperation();
           });
  }

  /// Whether all inputs of an elementwise nest are in memory in any case, or
  /// are smaller than its domain.
  static bool readsMemory(NestOp nest) {
    return llvm::all_of(nest.getThenInputs(), [&](Value value) {
      return !value.getDefiningOp<NestOp>() ||
             product(shapeOf(value)) < product(nest.getParallel()) ||
             isReduced(value);
    });
  }

  static bool isReduced(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto nest = dyn_cast<NestOp>(user);
      return nest && llvm::is_contained(nest.getMapInputs(), value);
    });
  }

  /// Fuses elementwise nests into the producers of their operands: bias,
  /// activation and residual after a contraction, several results at once.
  void mergeConsumers() {
    relate();
    forEachNest([&](NestOp producer, Operation *&next) {
      for (NestOp consumer : nestsUsing(producer)) {
        bool isNext = consumer == next;
        NestOp merged = tryMerge(producer, consumer);
        if (!merged)
          continue;
        next = isNext ? merged.getOperation() : next;
        break; // Replaced by the merged nest, visited later.
      }
    });
  }

  NestOp tryMerge(NestOp producer, NestOp consumer) {
    if (!isWanted(producer, consumer) || isTooMuch(producer, consumer) ||
        delaysSums(producer, consumer))
      return {};
    unsigned place = places_.at(consumer), before = places_.at(producer);
    bool isFeeder = feeders_->contains(consumer);
    Operation *after = consumer; // erased: only the address is used
    NestOp merged = mergeConsumer(producer, consumer, [&] {
                      return needs_.isNeededBetween(before, place);
                    }).nest;
    if (!merged)
      return {};
    needs_.join(before, place);
    feeders_->set(merged, isFeeder);
    sums_.replace(merged, after);
    inlined(merged, place, "elementwise work behind its producer");
    return merged;
  }

  /// Updates of states are not fused with the computation of their gradients:
  /// all of them run as one launch of one kernel.
  bool isWanted(NestOp producer, NestOp consumer) const {
    if (isWideForSums(consumer))
      return false;
    return !feeders_->contains(consumer) ||
           (producer.isElementwise() && feeders_->contains(producer));
  }

  /// Whether a nest only widens its input, which each consumer can do.
  static bool isWidening(NestOp nest) {
    return nest.getCombine().empty() && nest.getThenInputs().size() == 1 &&
           llvm::all_of(nest.getThen().front(),
                        llvm::IsaPred<arith::ExtFOp, plan::YieldOp>);
  }

  /// Inlines elementwise nests into all their consumers if these can compute
  /// them, and no more often than now unless the work is cheap.
  void inlineComputations() {
    number();
    auto all = nests();
    for (NestOp producer : llvm::reverse(all))
      if (shouldInlineEverywhere(producer)) {
        for (NestOp consumer : nestsUsing(producer)) {
          unsigned place = places_.at(consumer);
          inlined(inlineProducer(consumer, producer), place,
                  "elementwise work before a reduction");
        }
        producer.erase();
      }
  }

  bool shouldInlineEverywhere(NestOp producer) const {
    if (!producer.isElementwise() || producer->use_empty())
      return false;
    bool isFree = isMove(producer) || isWidening(producer);
    int64_t asked = 0;
    for (Operation *user : producer->getUsers()) {
      auto consumer = dyn_cast<NestOp>(user);
      if (!consumer || feedsContraction(consumer, producer) ||
          !canInline(consumer, producer) ||
          (!isFree && isTooMuch(consumer, producer)))
        return false;
    }
    for (NestOp consumer : nestsUsing(producer))
      asked += pointsAsked(consumer, producer);
    int64_t times = isCheap(producer) ? 2 : 1;
    return isFree || asked <= times * product(producer.getParallel());
  }

  /// Inlines work of a few operations where a nest reads what it is of anyway:
  /// the gradient of a normalization reads its input, of which a relu behind
  /// the normalization was, and need not read the relu's result.
  /// Reductions that were merged ask for their elements once, and can compute
  /// more themselves.
  void computeAgain() {
    inlineComputations();
    forEachNest([&](NestOp producer, Operation *&next) {
      if (producer.isElementwise() && workOf(producer) <= options_.workAgain)
        inlineIn(producer, next, "work on what is read anyway",
                 [&](NestOp consumer) {
                   return !isContraction(consumer) &&
                          canInline(consumer, producer) &&
                          !isTooMuch(consumer, producer) &&
                          addsNoReads(consumer, producer);
                 });
    });
    cleanUp();
  }

  /// Lets users compute wide results of 16-bit numbers, which are fewer bytes
  /// to store and to read. They stand behind the nest, which stays.
  void computeOfNarrow() {
    auto tooMuch = [&](NestOp a, NestOp b) { return isTooMuch(a, b); };
    for (Operation *op = &block_.front(); op; op = op->getNextNode()) {
      auto nest = dyn_cast<NestOp>(op);
      if (unsigned count = nest ? computeFromNarrow(nest, tooMuch) : 0)
        remark::passed(nest.getLoc(),
                       remark::RemarkOpts::name("FromNarrow").category(pass_))
            << std::to_string(count)
            << " wide results are computed of 16 bits where they are read";
    }
    cleanUp();
  }

  /// Merges reductions and elementwise nests that read the same elements, which
  /// are then read once. The result takes the position of the later one, and is
  /// visited again.
  void mergeSiblingNests() {
    relate();
    forEachNest([&](NestOp first, Operation *&next) {
      NestOp second = siblingOf(first);
      if (!second)
        return;
      bool isNext = second == next;
      unsigned place = places_.at(second);
      bool isFeeder = feeders_->contains(first);
      needs_.join(places_.at(first), place);
      Operation *after = second; // erased: only the address is used
      NestOp merged = mergeSiblings(first, second);
      feeders_->set(merged, isFeeder);
      sums_.replace(merged, after);
      inlined(merged, place, "nests over the same elements");
      next = isNext ? merged.getOperation() : next;
    });
  }

  /// Whether the sums of a merged nest would exceed the registers.
  static bool isTooWide(NestOp first, NestOp second) {
    constexpr size_t mostSums = 8;
    constexpr unsigned mostResults = 16;
    return first.getCombine().size() + second.getCombine().size() > mostSums ||
           first->getNumResults() + second->getNumResults() > mostResults;
  }

  NestOp siblingOf(NestOp first) {
    if (isContraction(first))
      return {};
    for (Value operand : first->getOperands())
      if (readsAll(first, operand))
        for (Operation *user : operand.getUsers())
          if (auto second = dyn_cast<NestOp>(user);
              second && areSiblings(first, second))
            return second;
    return {};
  }

  bool areSiblings(NestOp first, NestOp second) {
    return second != first && first.getParallel() == second.getParallel() &&
           first.getReduced() == second.getReduced() &&
           !isTooWide(first, second) && !isContraction(second) &&
           isBefore(first, second) && !isTooMuch(first, second) &&
           feeders_->contains(first) == feeders_->contains(second) &&
           !delaysSums(first, second) && !isNeeded(first, second) &&
           !isNeeded(second, first);
  }

  /// Whether the nest has a point for each element, so that sharing the read is
  /// worth something.
  static bool readsAll(NestOp nest, Value value) {
    return product(nest.getExtents()) == product(shapeOf(value));
  }

  /// Folds the combined scalar code in regions of one block.
  void foldScalars() {
    FrozenRewritePatternSet none;
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    for (NestOp nest : nests()) {
      if (!nest.getMap().empty())
        (void)applyPatternsGreedily(nest.getMap(), none, config);
      (void)applyPatternsGreedily(nest.getThen(), none, config);
    }
  }

  /// Records a nest that replaces another.
  void inlined(NestOp nest, unsigned place, StringRef what) {
    places_[nest] = place;
    remark::passed(nest.getLoc(),
                   remark::RemarkOpts::name("Fused").category(pass_))
        << "joined " << what;
  }

  /// Adds a remark to each elementwise nest that was not fused with one that it
  /// reads.
  void explainRest() {
    number();
    feeders_.emplace(block_);
    for (NestOp producer : nests())
      for (NestOp consumer : nestsUsing(producer))
        if (consumer.isElementwise())
          remark::missed(consumer.getLoc(),
                         remark::RemarkOpts::name("NotFused").category(pass_))
              << "elementwise work stays apart from a nest it reads: "
              << reasonApart(producer, consumer);
  }

  StringRef reasonApart(NestOp producer, NestOp consumer) const {
    if (!isWanted(producer, consumer))
      return "updates of states are launched together";
    if (isTooMuch(producer, consumer))
      return "it would be too much work for one nest";
    if (product(producer.getParallel()) != product(consumer.getParallel()))
      return "it runs over other points";
    return "its points are others, or something between needs the one and "
           "feeds "
           "the other";
  }

  GraphOp graph_;
  Block &block_;
  llvm::DenseMap<Operation *, unsigned> places_;
  Needs needs_;       // by numbers
  int64_t steps_ = 0; // of earlier relations
  std::optional<StateFeeders> feeders_;
  SumsAround sums_;
  FuseOptions options_;
  StringRef pass_;
};

struct Fuse : impl::FuseBase<Fuse> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      GraphFusion(graph, {mostWork, mostReads, workTwice, workAgain},
                  getArgument())
          .run();
  }
};

} // namespace
} // namespace gradus
