// Orders the commands of a graph so that few bytes are alive at once and
// states can be updated where they lie. Memory planning follows.

#include "codegen/liveness.h"
#include "codegen/passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#include <set>

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
        if (Operation *maker = storageOf(operand).getDefiningOp();
            number_.count(maker))
          wait(number_[command], number_[maker]);
    graph.walk([&](ReadOp read) { reads_[read.getState()].push_back(read); });
    graph.walk([&](WriteOp write) { readersFirst(write); });
  }

  const llvm::SetVector<unsigned> &before(unsigned command) const {
    return before_[command];
  }

  /// From commands to those that they wait for, while it was made.
  int64_t steps() const { return steps_; }

private:
  void readersFirst(WriteOp write) {
    Operation *writer = storageOf(write.getValue()).getDefiningOp();
    if (!writer || !number_.count(writer))
      return;
    for (ReadOp read : reads_[write.getState()])
      for (Operation *reader : commandsReading(read.getResult()))
        if (reader != writer && !reaches(number_[reader], number_[writer]))
          wait(number_[writer], number_[reader]);
  }

  void wait(unsigned command, unsigned first) {
    if (before_[command].insert(first) && first > command)
      upward_.push_back({command, first});
  }

  SmallVector<Operation *> commandsReading(Value value) {
    SmallVector<Operation *> readers;
    for (Operation *user : value.getUsers()) {
      if (number_.count(user))
        readers.push_back(user);
      if (isa<ReshapeOp>(user))
        readers.append(commandsReading(user->getResult(0)));
    }
    return readers;
  }

  /// Whether `later` waits for `earlier`, so that the reverse cannot be asked.
  /// Commands wait for those of smaller numbers, but for the few that wait for
  /// a later reader: what is below `earlier` leads to it by one of these alone.
  bool reaches(unsigned later, unsigned earlier) {
    bool leadsUp = llvm::any_of(upward_, [&](auto edge) {
      return edge.first < earlier && edge.second >= earlier;
    });
    SmallVector<unsigned> stack = {later};
    llvm::DenseSet<unsigned> seen;
    while (!stack.empty()) {
      unsigned at = stack.pop_back_val();
      ++steps_;
      if (at == earlier)
        return true;
      if ((leadsUp || at > earlier) && seen.insert(at).second)
        stack.append(before_[at].begin(), before_[at].end());
    }
    return false;
  }

  DenseMap<Operation *, unsigned> number_;
  DenseMap<StringRef, SmallVector<ReadOp, 1>> reads_; // of each state
  std::vector<llvm::SetVector<unsigned>> before_;
  int64_t steps_ = 0;
  /// Commands that wait for one of a larger number, and that one.
  SmallVector<std::pair<unsigned, unsigned>> upward_;
};

/// The commands whose turn may come: those that wait for none.
class Ready {
public:
  Ready(const Dependencies &dependencies, size_t commands)
      : waiting_(commands), waiters_(commands) {
    for (unsigned command = 0; command < commands; ++command) {
      waiting_[command] = dependencies.before(command).size();
      for (unsigned first : dependencies.before(command))
        waiters_[first].push_back(command);
      if (waiting_[command] == 0)
        ready_.insert(command);
    }
  }

  /// Ascending.
  const std::set<unsigned> &commands() const { return ready_; }

  void take(unsigned command) {
    ready_.erase(command);
    for (unsigned waiter : waiters_[command])
      if (--waiting_[waiter] == 0)
        ready_.insert(waiter);
  }

private:
  std::vector<size_t> waiting_; // for how many commands
  std::vector<SmallVector<unsigned>> waiters_;
  std::set<unsigned> ready_;
};

/// How many bytes a command would add to those alive, as commands are taken.
class Growth {
public:
  Growth(GraphOp graph, ArrayRef<Operation *> commands) {
    for (Operation *command : commands)
      for (Value operand : operandsOf(command))
        ++readers_[operand];
    for (Value returned : graph.getReturned())
      ++readers_[storageOf(returned)];
    graph.walk([&](WriteOp write) {
      ++readers_[storageOf(write.getValue())];
      written_.insert(storageOf(write.getValue()));
    });
  }

  /// Bytes that come alive less those that die; a state's new value takes the
  /// place of the old.
  int64_t of(Operation *command) const {
    int64_t bytes = 0;
    for (Value result : command->getResults())
      if (!written_.contains(result))
        bytes += paddedBytes(result.getType());
    for (Value operand : operandsOf(command))
      if (readers_.at(operand) == 1 && !operand.getDefiningOp<ReadOp>())
        bytes -= paddedBytes(operand.getType());
    return bytes;
  }

  /// Whether all it makes are new values of states.
  bool isUpdate(Operation *command) const {
    return llvm::all_of(command->getResults(), [&](Value result) {
      return written_.contains(result);
    });
  }

  void take(Operation *command) {
    for (Value operand : operandsOf(command))
      --readers_[operand];
  }

private:
  static llvm::SetVector<Value> operandsOf(Operation *command) {
    llvm::SetVector<Value> operands;
    for (Value operand : command->getOperands())
      operands.insert(storageOf(operand));
    return operands;
  }

  DenseMap<Value, int64_t> readers_;
  DenseSet<Value> written_; // to states
};

/// Topological orders of a graph's commands.
class ListScheduler {
public:
  ListScheduler(GraphOp graph, ArrayRef<Operation *> commands,
                const Dependencies &dependencies)
      : commands_(commands), ready_(dependencies, commands.size()),
        growth_(graph, commands) {}

  /// Always the ready command that leaves the fewest bytes alive, the earlier
  /// one of equals.
  SmallVector<Operation *> least() {
    return order([&] { return cheapestReady(); });
  }

  /// The given order, changed only where a state's readers must come first and
  /// where an update frees gradients: it comes as soon as it can, while they
  /// are in cache.
  SmallVector<Operation *> given() {
    return order([&] {
      for (unsigned command : ready_.commands())
        if (growth_.isUpdate(commands_[command]) &&
            growth_.of(commands_[command]) < 0)
          return command;
      return *ready_.commands().begin();
    });
  }

private:
  SmallVector<Operation *> order(llvm::function_ref<unsigned()> choose) {
    SmallVector<Operation *> order;
    while (!ready_.commands().empty()) {
      unsigned next = choose();
      ready_.take(next);
      growth_.take(commands_[next]);
      order.push_back(commands_[next]);
    }
    return order;
  }

  unsigned cheapestReady() {
    unsigned best = 0;
    int64_t bestGrowth = std::numeric_limits<int64_t>::max();
    for (unsigned command : ready_.commands())
      if (int64_t bytes = growth_.of(commands_[command]); bytes < bestGrowth) {
        best = command;
        bestGrowth = bytes;
      }
    return best;
  }

  ArrayRef<Operation *> commands_;
  Ready ready_;
  Growth growth_;
};

struct Schedule : impl::ScheduleBase<Schedule> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    auto given = commandsOf(graph);
    Dependencies dependencies(graph, given);
    auto found = ListScheduler(graph, given, dependencies).least();
    auto stable = ListScheduler(graph, given, dependencies).given();
    remark::analysis(graph.getLoc(),
                     remark::RemarkOpts::name("Walked").category(getArgument()))
        << std::to_string(dependencies.steps())
        << " steps from commands to what they wait for";
    bool smaller = peakOf(graph, found).bytes < peakOf(graph, stable).bytes;
    apply(graph, smaller ? found : stable);
    remark::analysis(
        graph.getLoc(),
        remark::RemarkOpts::name("Scheduled").category(getArgument()))
        << "order keeps at most "
        << std::to_string(peakOf(graph, smaller ? found : stable).bytes)
        << " bytes alive";
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
