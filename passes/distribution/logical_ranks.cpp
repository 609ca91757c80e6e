// Makes a process compute several ranks in turn, with the bits of a run in
// which each has a process of its own.
//
// Runs when the step is complete and its sums are buckets. S logical ranks on N
// processes are t = S/N turns of each. The sum over ranks is
// a tree of adjacent ranks first, so the ranks of a process are a subtree of
// it: they are added like the digits of a binary counter. In the state of level
// k waits the sum of 2^k of them for that of the next 2^k. What adds how many
// levels up follows from the turn alone, so each is a variant of the step.
//
// A rank's own part must have the same bits in each variant, whatever is done
// with it there. So each bucket has a border in front, a sum along an axis on
// which a process is alone: codegen makes the same kernels of what lies before
// it, stores what it takes, and fuses nothing across it.

#include "passes/distribution.h"

#include "passes/passes.h"
#include "passes/step_variants.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace gradus {
#define GEN_PASS_DEF_LOGICALRANKS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The axis on which a process is alone.
constexpr StringLiteral kTurnAxis = "turn";

/// An operand of a sum that is added up, and the name of the states that it
/// waits in.
struct Partial {
  OpOperand *own;
  std::string name;

  std::string waitingAt(int64_t level) const {
    return "logical_ranks/" + std::to_string(level) + "/" + name;
  }
};

std::string partialName(int64_t carries) {
  return "train_partial_" + std::to_string(carries);
}
std::string finalName(int64_t carries) {
  return carries ? "train_final_" + std::to_string(carries) : kTrain.str();
}

SmallVector<AllReduceOp> sumsOf(GraphOp graph) {
  SmallVector<AllReduceOp> sums;
  for (auto sum : graph.getBody().front().getOps<AllReduceOp>())
    if (isOverRanks(sum))
      sums.push_back(sum);
  return sums;
}

/// A sum that waits for another sum; null if none does.
Operation *waitingSum(GraphOp graph) {
  llvm::DenseSet<Operation *> behind;
  for (Operation &op : graph.getBody().front()) {
    bool waits = llvm::any_of(op.getOperands(), [&](Value operand) {
      return behind.contains(operand.getDefiningOp());
    });
    bool isSum = isOverRanks(&op);
    if (isSum && waits)
      return &op;
    if (isSum || waits)
      behind.insert(&op);
  }
  return nullptr;
}

/// Removes what nothing uses.
void removeDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

struct LogicalRanksPass : impl::LogicalRanksBase<LogicalRanksPass> {
  using Base::Base;

  void runOnOperation() override {
    DistributionSettings settings = distributionOf(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (settings.mode == DistributionMode::none || !settings.logicalRanks ||
        *settings.logicalRanks < 2 || !train ||
        getOperation().getGraph(finalName(1)))
      return;
    levels = llvm::Log2_64(*settings.logicalRanks);
    if (failed(prepare(train)) || failed(addStates(train)))
      return signalPassFailure();
    addVariants(train);
    addTurns();
    report(train, *settings.logicalRanks);
  }

  /// Draws borders in front of the sums, none of which may wait for another.
  LogicalResult prepare(GraphOp train) {
    if (failed(checkVariants(train)) || failed(checkOwnStates()))
      return failure();
    if (Operation *sum = waitingSum(train))
      return refuse(sum);
    for (AllReduceOp sum : sumsOf(train)) {
      OpBuilder builder(sum);
      auto border =
          AllReduceOp::create(builder, sum.getLoc(), sum.getOperands());
      border.setAxis(kTurnAxis);
      sum->setOperands(border.getResults());
    }
    return success();
  }

  /// Sums that wait for others would need one more turn of each rank.
  static LogicalResult refuse(Operation *sum) {
    return sum->emitError()
           << "is summed over ranks and depends on another sum over ranks, "
              "which logical ranks cannot wait for, as a process computes them "
              "one after the other; several losses with labels to ignore, and "
              "one that the model divides by a count, need "
              "distribution.loss_mean \"rank\"";
  }

  LogicalResult checkVariants(GraphOp train) {
    for (auto schedule : getOperation().getBody().getOps<ScheduleOp>())
      if (schedule.getGraph() == kTrain)
        return train.emitError(
            "has variants already, by accumulation, gradient_freeze or a pass, "
            "which distribution.logical_ranks excludes");
    return success();
  }

  LogicalResult checkOwnStates() {
    for (auto state : getOperation().getBody().getOps<StateOp>())
      if (state.getDiffersAlong())
        return state.emitError("is each rank's own, and with "
                               "distribution.logical_ranks a process has "
                               "several ranks");
    return success();
  }

  //===-- states ----------------------------------------------------------===//

  /// Lists the operands of a graph's sums, which each variant has in the same
  /// order.
  static SmallVector<Partial> partialsOf(GraphOp graph) {
    SmallVector<Partial> partials;
    llvm::StringSet<> taken;
    for (AllReduceOp sum : sumsOf(graph))
      for (OpOperand &own : sum->getOpOperands()) {
        std::string name = sum.getParameter(own.getOperandNumber()).str();
        if (name.empty())
          name = "sum" + std::to_string(partials.size());
        while (!taken.insert(name).second)
          name += "+";
        partials.push_back({&own, name});
      }
    return partials;
  }

  LogicalResult addStates(GraphOp train) {
    auto counter =
        RankedTensorType::get({}, IntegerType::get(&getContext(), 64));
    States states(getOperation());
    if (failed(states.ensure(well_known::kTurn, counter, Role::place)) ||
        failed(states.ensure(well_known::kRank, counter, Role::place)))
      return failure();
    for (const Partial &partial : partialsOf(train))
      for (int64_t level = 0; level < levels; ++level) {
        std::string name = partial.waitingAt(level);
        if (failed(states.ensure(name, tensorType(partial.own->get()),
                                 Role::scratch)))
          return failure();
        states.find(name).setDiffersAlongAttr(
            Builder(&getContext()).getStrArrayAttr({kDataAxis}));
      }
    return success();
  }

  //===-- variants --------------------------------------------------------===//

  void addVariants(GraphOp train) {
    for (int64_t carries = 0; carries < levels; ++carries)
      makePartial(clone(train, partialName(carries)), carries);
    for (int64_t carries = 1; carries <= levels; ++carries)
      makeFinal(clone(train, finalName(carries)), carries);
  }

  static GraphOp clone(GraphOp train, const std::string &name) {
    OpBuilder builder(train);
    builder.setInsertionPointToEnd(train->getBlock());
    auto variant = cast<GraphOp>(builder.clone(*train));
    variant.setSymName(name);
    return variant;
  }

  /// Adds what waits in the lowest levels to a rank's own part.
  static Value withWaiting(OpBuilder &builder, const Partial &partial,
                           int64_t carries) {
    Value total = partial.own->get();
    Arithmetic math(builder, total.getLoc());
    for (int64_t level = 0; level < carries; ++level)
      total = math.add(readState(builder, math.loc, partial.waitingAt(level),
                                 tensorType(total)),
                       total);
    return total;
  }

  /// A turn that is not a process's last: its sums wait, and nothing that a
  /// checkpoint has changes.
  void makePartial(GraphOp graph, int64_t carries) {
    Block &block = graph.getBody().front();
    for (auto write : llvm::make_early_inc_range(block.getOps<WriteOp>()))
      write.erase();
    OpBuilder builder(block.getTerminator());
    for (OpOperand &output : block.getTerminator()->getOpOperands())
      output.set(splatLike(builder, output.get(), 0));
    for (const Partial &partial : partialsOf(graph))
      writeState(builder, graph.getLoc(), partial.waitingAt(carries),
                 withWaiting(builder, partial, carries));
    advance(builder, graph.getLoc(), 1);
    removeUsers(graph);
    removeDead(block);
  }

  /// Removes the sums and what follows from them, which is unused.
  static void removeUsers(GraphOp graph) {
    llvm::SetVector<Operation *> dead;
    for (AllReduceOp sum : sumsOf(graph))
      dead.insert(sum);
    for (size_t i = 0; i < dead.size(); ++i)
      for (Operation *user : dead[i]->getUsers())
        dead.insert(user);
    for (Operation *op : dead)
      op->dropAllReferences();
    for (Operation *op : dead)
      op->erase();
  }

  /// A process's last turn, which has 2^carries in all.
  void makeFinal(GraphOp graph, int64_t carries) {
    for (const Partial &partial : partialsOf(graph)) {
      OpBuilder builder(partial.own->getOwner());
      partial.own->set(withWaiting(builder, partial, carries));
    }
    OpBuilder builder(graph.getBody().front().getTerminator());
    advance(builder, graph.getLoc(), 1 - (int64_t(1) << carries));
  }

  /// Makes the next turn that of another logical rank.
  void advance(OpBuilder &builder, Location loc, int64_t by) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    for (StringRef name : {well_known::kTurn, well_known::kRank}) {
      Value old = readState(builder, loc, name, type);
      writeState(
          builder, loc, name,
          Arithmetic(builder, loc).add(old, splatLike(builder, old, by)));
    }
  }

  //===-- the schedule ----------------------------------------------------===//

  /// A process with t turns counts from t - 1 to 2t - 2, so a count tells t and
  /// the turn. The last one is of no smaller t; of the others, one that carries
  /// k levels up has k ones at the end of count + 1.
  void addTurns() {
    ScheduleOp schedule = addSchedule(getOperation(), well_known::kTurn);
    for (int64_t carries = 0; carries < levels; ++carries) {
      int64_t every = int64_t(2) << carries;
      addCase(schedule, partialName(carries), every,
              (every + every / 2 - 2) % every);
    }
    int64_t all = int64_t(2) << levels;
    for (int64_t carries = 0; carries <= levels; ++carries)
      addCase(schedule, finalName(carries), all, (int64_t(2) << carries) - 2);
  }

  void report(GraphOp train, int64_t ranks) {
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("LogicalRanks").category(getArgument()))
        << ("a process computes up to " + Twine(ranks) +
            " ranks in turn; up to " + Twine(levels) +
            " sums of each gradient wait in states")
               .str();
  }

  int64_t levels = 0; // of the tree of logical ranks
};

} // namespace
} // namespace gradus
