// Orders the commands of a graph so that few bytes are alive at once and
// states can be updated where they lie. Memory planning follows.

#include "codegen/liveness.h"
#include "codegen/passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace gradus {
#define GEN_PASS_DEF_SCHEDULE
#include "codegen/passes.h.inc"

namespace {
using namespace mlir;

/// What must run before what: operands, and readers of a state before the
/// command that writes its new value.
class Dependencies {
public:
  Dependencies(GraphOp graph, ArrayRef<Operation *> commands) {
    for (auto [index, command] : llvm::enumerate(commands))
      number_[command] = index;
    before_.resize(commands.size());
    for (Operation *command : commands)
      for (Value operand : command->getOperands())
        waitFor(operand, number_[command]);
    graph.walk([&](WriteOp write) { readersFirst(graph, write); });
  }

  const llvm::SetVector<unsigned> &before(unsigned command) const {
    return before_[command];
  }

private:
  /// What makes an operand comes first, and what its `after` names.
  void waitFor(Value operand, unsigned command) {
    while (Operation *op = operand.getDefiningOp()) {
      if (number_.count(op))
        before_[command].insert(number_[op]);
      if (auto after = dyn_cast<AfterOp>(op))
        waitFor(after.getOther(), command);
      if (!isa<ReshapeOp, AfterOp>(op))
        return;
      operand = op->getOperand(0);
    }
  }

  void readersFirst(GraphOp graph, WriteOp write) {
    Operation *writer = storageOf(write.getValue()).getDefiningOp();
    if (!writer || !number_.count(writer))
      return;
    graph.walk([&](ReadOp read) {
      if (read.getState() == write.getState())
        for (Operation *reader : commandsReading(read.getResult()))
          if (reader != writer && !reaches(number_[reader], number_[writer]))
            before_[number_[writer]].insert(number_[reader]);
    });
  }

  SmallVector<Operation *> commandsReading(Value value) {
    SmallVector<Operation *> readers;
    for (Operation *user : value.getUsers()) {
      if (number_.count(user))
        readers.push_back(user);
      if (isa<ReshapeOp, AfterOp>(user) && user->getOperand(0) == value)
        readers.append(commandsReading(user->getResult(0)));
    }
    return readers;
  }

  /// Whether `later` waits for `earlier`, so that the reverse cannot be asked.
  bool reaches(unsigned later, unsigned earlier) {
    SmallVector<unsigned> stack = {later};
    llvm::DenseSet<unsigned> seen;
    while (!stack.empty()) {
      unsigned at = stack.pop_back_val();
      if (at == earlier)
        return true;
      if (seen.insert(at).second)
        stack.append(before_[at].begin(), before_[at].end());
    }
    return false;
  }

  DenseMap<Operation *, unsigned> number_;
  std::vector<llvm::SetVector<unsigned>> before_;
};

/// Largest sum of live bytes over the order.
int64_t peakBytes(GraphOp graph, ArrayRef<Operation *> order) {
  std::vector<int64_t> change(order.size() + 1, 0);
  for (auto &[value, range] : liveRanges(graph, order)) {
    int64_t bytes = paddedBytes(value.getType());
    change[range.begin] += bytes;
    change[std::min<int64_t>(range.end, order.size())] -= bytes;
  }
  int64_t live = 0, peak = 0;
  for (auto [index, command] : llvm::enumerate(order)) {
    live += change[index];
    peak = std::max(peak, live + scratchBytes(command));
  }
  return peak;
}

/// A topological order: always the ready command that leaves the fewest bytes
/// alive, the earlier one of equals.
class ListScheduler {
public:
  ListScheduler(GraphOp graph, ArrayRef<Operation *> commands)
      : commands_(commands), dependencies_(graph, commands) {
    for (Operation *command : commands)
      for (Value operand : operandsOf(command))
        ++readers_[operand];
    for (Value returned : graph.getReturned())
      ++readers_[storageOf(returned)];
    graph.walk([&](WriteOp write) { ++readers_[storageOf(write.getValue())]; });
  }

  SmallVector<Operation *> run() {
    SmallVector<Operation *> order;
    std::vector<bool> done(commands_.size(), false);
    while (order.size() < commands_.size()) {
      unsigned next = cheapestReady(done);
      done[next] = true;
      for (Value operand : operandsOf(commands_[next]))
        --readers_[operand];
      order.push_back(commands_[next]);
    }
    return order;
  }

private:
  static llvm::SetVector<Value> operandsOf(Operation *command) {
    llvm::SetVector<Value> operands;
    for (Value operand : command->getOperands())
      operands.insert(storageOf(operand));
    return operands;
  }

  unsigned cheapestReady(const std::vector<bool> &done) {
    unsigned best = commands_.size();
    int64_t bestGrowth = 0;
    for (unsigned i = 0; i < commands_.size(); ++i) {
      if (done[i] || !llvm::all_of(dependencies_.before(i),
                                   [&](unsigned first) { return done[first]; }))
        continue;
      int64_t bytes = growth(commands_[i]);
      if (best == commands_.size() || bytes < bestGrowth) {
        best = i;
        bestGrowth = bytes;
      }
    }
    return best;
  }

  /// Bytes that come alive less those that die.
  int64_t growth(Operation *command) {
    int64_t bytes = 0;
    for (Value result : command->getResults())
      bytes += paddedBytes(result.getType());
    for (Value operand : operandsOf(command))
      if (readers_[operand] == 1 && !operand.getDefiningOp<ReadOp>())
        bytes -= paddedBytes(operand.getType());
    return bytes;
  }

  ArrayRef<Operation *> commands_;
  Dependencies dependencies_;
  DenseMap<Value, int64_t> readers_;
};

struct Schedule : impl::ScheduleBase<Schedule> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    auto given = commandsOf(graph);
    auto found = ListScheduler(graph, given).run();
    auto stable = stableOrder(graph, given);
    bool smaller = peakBytes(graph, found) < peakBytes(graph, stable);
    dropAfters(graph);
    apply(graph, smaller ? found : stable);
    remark::analysis(
        graph.getLoc(),
        remark::RemarkOpts::name("Scheduled").category(getArgument()))
        << "order keeps at most "
        << std::to_string(peakBytes(graph, smaller ? found : stable))
        << " bytes alive";
  }

  /// The order says from here on what `after` said.
  static void dropAfters(GraphOp graph) {
    for (auto after :
         llvm::make_early_inc_range(graph.getBody().getOps<AfterOp>())) {
      after.getResult().replaceAllUsesWith(after.getInput());
      after.erase();
    }
  }

  /// The given order, changed only where a state's readers must come first.
  static SmallVector<Operation *> stableOrder(GraphOp graph,
                                              ArrayRef<Operation *> given) {
    Dependencies dependencies(graph, given);
    SmallVector<Operation *> order;
    std::vector<bool> done(given.size(), false);
    while (order.size() < given.size())
      for (unsigned i = 0; i < given.size(); ++i)
        if (!done[i] &&
            llvm::all_of(dependencies.before(i),
                         [&](unsigned first) { return done[first]; })) {
          done[i] = true;
          order.push_back(given[i]);
          break;
        }
    return order;
  }

  /// Moves everything into place: what only names values first, then each
  /// command behind the reshapes it reads, then the writes.
  static void apply(GraphOp graph, ArrayRef<Operation *> order) {
    Block &block = graph.getBody().front();
    SmallVector<Operation *> names, others;
    for (Operation &op : block.without_terminator())
      if (isa<ReadOp, arith::ConstantOp>(op))
        names.push_back(&op);
      else if (!isa<plan::LaunchOp, plan::LibraryOp>(op))
        others.push_back(&op);
    DenseSet<Operation *> placed;
    for (Operation *op : names)
      place(op, block, placed);
    for (Operation *command : order)
      place(command, block, placed);
    for (Operation *op : others)
      place(op, block, placed);
  }

  /// Moves `op` to the end of the block, behind the reshapes it reads.
  static void place(Operation *op, Block &block,
                    DenseSet<Operation *> &placed) {
    if (!placed.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      if (auto reshape = operand.getDefiningOp<ReshapeOp>())
        place(reshape, block, placed);
    op->moveBefore(block.getTerminator());
  }
};

} // namespace
} // namespace gradus
