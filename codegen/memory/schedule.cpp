// Orders the commands of a graph so that few bytes are live at once and states
// can be updated in place. Memory planning follows.

#include "codegen/memory/liveness.h"
#include "codegen/plan/passes.h"
#include "passes/distribution.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#include <limits>
#include <set>
#include <tuple>

namespace gradus {
#define GEN_PASS_DEF_SCHEDULE
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;

constexpr int64_t kLittleBytes = 4096;

/// The order in which the commands of a graph stand, but that what an earlier
/// collective waits for comes before what only later ones wait for: forming
/// kernels may have moved it behind. Each collective is followed by its end.
class GivenOrder {
  static constexpr int64_t kNoSum = std::numeric_limits<int64_t>::max();

  /// No command has a greater key than those that use its results.
  struct Key {
    int64_t place, sum, index; // `sum` is the first that waits for it

    void pull(const Key &user) {
      place = std::min(place, user.place);
      sum = std::min(sum, user.sum);
    }
    auto tuple() const { return std::tuple(place, sum, index); }
  };

public:
  explicit GivenOrder(GraphOp graph) : commands_(commandsOf(graph)) {
    for (auto [index, command] : llvm::enumerate(commands_))
      keys_[command] = {int64_t(index), kNoSum, int64_t(index)};
    pullStarts();
    for (Operation *command : llvm::reverse(commands_))
      for (Operation *maker : makersOf(command))
        keys_[maker].pull(keys_[command]);
  }

  SmallVector<Operation *> run() {
    llvm::stable_sort(commands_, [&](Operation *one, Operation *other) {
      return keys_[one].tuple() < keys_[other].tuple();
    });
    SmallVector<Operation *> order;
    for (Operation *command : commands_) {
      if (!isa<plan::FinishOp>(command))
        order.push_back(command);
      if (auto start = dyn_cast<plan::StartOp>(command))
        llvm::append_range(order, start.getToken().getUsers());
    }
    return order;
  }

private:
  /// A collective could stand behind the last command that makes an operand,
  /// and no later than those behind it.
  void pullStarts() {
    SmallVector<plan::StartOp> starts;
    for (Operation *command : commands_)
      if (auto start = dyn_cast<plan::StartOp>(command))
        starts.push_back(start);
    llvm::stable_sort(starts, [](plan::StartOp one, plan::StartOp other) {
      return one.getNumber() < other.getNumber();
    });
    int64_t next = kNoSum;
    for (plan::StartOp start : llvm::reverse(starts)) {
      int64_t last = 0;
      for (Operation *maker : makersOf(start))
        last = std::max(last, keys_[maker].index);
      next = std::min(next, needsLittle(start) ? 0 : last);
      keys_[start].pull({next, int64_t(start.getNumber()), 0});
    }
  }

  SmallVector<Operation *> makersOf(Operation *command) const {
    SmallVector<Operation *> makers;
    for (Value operand : command->getOperands())
      if (Operation *maker = storageOf(operand).getDefiningOp();
          keys_.count(maker))
        makers.push_back(maker);
    return makers;
  }

  /// Whether few bytes are computed before a collective can begin, as the
  /// number of labels that count: then it begins with the step.
  bool needsLittle(plan::StartOp start) const {
    llvm::SetVector<Operation *> before;
    before.insert(start);
    int64_t bytes = 0;
    for (size_t next = 0; next < before.size(); ++next)
      for (Operation *maker : makersOf(before[next]))
        if (before.insert(maker)) {
          for (Value result : maker->getResults())
            bytes += roomOf(result);
          if (bytes > kLittleBytes)
            return false;
        }
    return true;
  }

  SmallVector<Operation *> commands_;
  DenseMap<Operation *, Key> keys_;
};

/// Numbers collectives in the order in which they begin.
void numberSums(ArrayRef<Operation *> commands) {
  int64_t number = 0;
  for (Operation *command : commands)
    if (auto start = dyn_cast<plan::StartOp>(command)) {
      start.setNumber(number);
      for (Operation *user : start.getToken().getUsers())
        cast<plan::FinishOp>(user).setNumber(number);
      ++number;
    }
}

/// The dependencies between commands: by operands, and from the readers of a
/// state to the command that writes its new value.
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
    inOrder<plan::StartOp>(commands);
    inOrder<plan::FinishOp>(commands);
    graph.walk([&](ReadOp read) { reads_[read.getState()].push_back(read); });
    graph.walk([&](WriteOp write) { readersFirst(write); });
  }

  const llvm::SetVector<unsigned> &before(unsigned command) const {
    return before_[command];
  }

  /// The number of edges that were walked to build it.
  int64_t steps() const { return steps_; }

private:
  /// Collectives begin in one order, and are waited for in the same.
  template <typename Op> void inOrder(ArrayRef<Operation *> commands) {
    Operation *before = nullptr;
    for (Operation *command : commands) {
      if (!isa<Op>(command))
        continue;
      if (before)
        wait(number_[command], number_[before]);
      before = command;
    }
  }

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
      if (user->hasTrait<NamesMemory>())
        readers.append(commandsReading(user->getResult(0)));
    }
    return readers;
  }

  /// Whether `later` depends on `earlier`, so that the reverse edge would be a
  /// cycle. Most edges lead to smaller numbers, except those to a later reader:
  /// numbers below `earlier` can only lead back to it by one of these.
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
  /// The edges to commands with larger numbers.
  SmallVector<std::pair<unsigned, unsigned>> upward_;
};

/// The number of unscheduled commands that each command depends on.
class Waiting {
public:
  Waiting(const Dependencies &dependencies, size_t commands)
      : for_(commands), waiters_(commands) {
    for (unsigned command = 0; command < commands; ++command) {
      for_[command] = dependencies.before(command).size();
      for (unsigned first : dependencies.before(command))
        waiters_[first].push_back(command);
    }
  }

  bool isReady(unsigned command) const { return for_[command] == 0; }

  /// The commands that depend on this one.
  ArrayRef<unsigned> waiters(unsigned command) const {
    return waiters_[command];
  }

  /// Schedules a command; returns the commands that became ready.
  SmallVector<unsigned> take(unsigned command) {
    SmallVector<unsigned> ready;
    for (unsigned waiter : waiters_[command])
      if (--for_[waiter] == 0)
        ready.push_back(waiter);
    return ready;
  }

private:
  std::vector<size_t> for_;
  std::vector<SmallVector<unsigned>> waiters_;
};

/// The bytes that each command would add to the live ones if it came next: of
/// values that become live minus those that die. A state's new value reuses the
/// memory of the old one.
class Growth {
public:
  Growth(GraphOp graph, ArrayRef<Operation *> commands) {
    for (Value returned : graph.getReturned())
      ++readers_[storageOf(returned)].others;
    graph.walk([&](WriteOp write) {
      Value value = storageOf(write.getValue());
      ++readers_[value].others;
      written_.insert(value);
      // A part of a new value takes over the gradient's memory.
      if (auto finish = value.getDefiningOp<plan::FinishOp>())
        written_.insert(storageOf(
            finish.getBegun()[cast<OpResult>(value).getResultNumber()]));
    });
    for (Operation *command : commands) {
      made_.push_back(comingAlive(command));
      bytes_.push_back(made_.back());
      isUpdate_.push_back(onlyUpdates(command));
      operands_.push_back(operandsOf(command));
      for (Value operand : operands_.back())
        readers_[operand].add(bytes_.size() - 1);
    }
    for (auto &[value, readers] : readers_)
      noteDeath(value, readers);
    DenseSet<Operation *> late;
    for (auto [number, command] : llvm::enumerate(commands)) {
      canWait_.push_back(made_[number] > 0 && !isUpdate_[number] &&
                         llvm::all_of(operands_[number], [&](Value operand) {
                           Operation *maker = operand.getDefiningOp();
                           return isa_and_present<ReadOp, arith::ConstantOp>(
                                      maker) ||
                                  (late.contains(maker) &&
                                   readers_.at(operand).isOneCommand());
                         }));
      if (canWait_.back())
        late.insert(command);
    }
  }

  int64_t of(unsigned command) const { return bytes_[command]; }

  /// Whether all results of a command are new values of states.
  bool isUpdate(unsigned command) const { return isUpdate_[command]; }

  /// Whether a command frees several times the bytes that it makes, as a sum
  /// does that is the last to read its terms.
  bool shrinks(unsigned command) const {
    return bytes_[command] <= -kMuchBytes &&
           bytes_[command] <= -kTimes * made_[command];
  }

  /// Whether a command makes a few numbers alone, as the count of steps, which
  /// updates may wait for.
  bool makesLittle(unsigned command) const {
    constexpr int64_t few = 1024; // bytes
    return !isUpdate_[command] && made_[command] <= few;
  }

  /// Whether a command could come later for free: all that it reads are states
  /// and constants, which stay, and what comes later with it.
  bool canWait(unsigned command) const { return canWait_[command]; }

  /// Schedules a command; returns the commands whose growth has changed.
  SmallVector<unsigned> take(unsigned command) {
    SmallVector<unsigned> changed;
    for (Value operand : operands_[command]) {
      Readers &readers = readers_[operand];
      readers.remove(command);
      if (noteDeath(operand, readers))
        changed.push_back(readers.last());
    }
    return changed;
  }

private:
  /// The remaining readers of a value.
  struct Readers {
    void add(unsigned command) { ++commands, numbers += command; }
    void remove(unsigned command) { --commands, numbers -= command; }
    bool isOneCommand() const { return commands == 1 && others == 0; }
    unsigned last() const { return numbers; }

    unsigned others = 0; // returns and writes at the graph's end
    unsigned commands = 0;
    uint64_t numbers = 0; // the sum of the commands' numbers
  };

  /// Attributes the death of a value to its only remaining reader, if there is
  /// one.
  bool noteDeath(Value value, const Readers &readers) {
    if (!readers.isOneCommand() || value.getDefiningOp<ReadOp>())
      return false;
    bytes_[readers.last()] -= roomOf(value);
    return true;
  }

  int64_t comingAlive(Operation *command) const {
    int64_t bytes = 0;
    for (Value result : command->getResults())
      if (!written_.contains(result))
        bytes += roomOf(result);
    return bytes;
  }

  bool onlyUpdates(Operation *command) const {
    return llvm::all_of(command->getResults(), [&](Value result) {
      return written_.contains(result);
    });
  }

  static llvm::SetVector<Value> operandsOf(Operation *command) {
    llvm::SetVector<Value> operands;
    for (Value operand : command->getOperands())
      operands.insert(storageOf(operand));
    return operands;
  }

  static constexpr int64_t kMuchBytes = 64 << 10, kTimes = 4;

  std::vector<int64_t> bytes_, made_; // of each command
  std::vector<bool> isUpdate_, canWait_;
  std::vector<llvm::SetVector<Value>> operands_;
  DenseMap<Value, Readers> readers_;
  DenseSet<Value> written_; // to states
};

/// Topological orders of a graph's commands.
class ListScheduler {
public:
  ListScheduler(GraphOp graph, ArrayRef<Operation *> commands,
                const Dependencies &dependencies, int64_t inFlight)
      : commands_(commands), waiting_(dependencies, commands.size()),
        growth_(graph, commands), inFlight_(inFlight) {}

  /// Always chooses the ready command that leaves the fewest bytes live. What
  /// packs a weight would be chosen long before its reader, as others make more
  /// bytes: it comes as late as it can.
  SmallVector<Operation *> least() {
    return named(
        late(order([&](unsigned command) { return growth_.of(command); })));
  }

  /// Keeps the given order, except that a state's readers precede its new
  /// value, that updates which free gradients, and sums which free their terms,
  /// come as early as possible, while these are in cache, as does what makes a
  /// few numbers, and that collectives begin as soon as they can. One is waited
  /// for when inFlight others have begun since, or when nothing else is left to
  /// do.
  SmallVector<Operation *> given() {
    begun_ = 0;
    return named(order([&](unsigned command) -> int64_t {
      if (isa<plan::StartOp>(commands_[command]))
        return 0;
      if (auto finish = dyn_cast<plan::FinishOp>(commands_[command]))
        return int64_t(finish.getNumber()) + inFlight_ < begun_ ? 1 : 4;
      bool frees = growth_.shrinks(command) || growth_.makesLittle(command) ||
                   (growth_.isUpdate(command) && growth_.of(command) < 0);
      return frees ? 2 : 3;
    }));
  }

  /// The number of ranks that were computed.
  int64_t steps() const { return steps_; }

private:
  /// Always chooses the ready command of the lowest rank, the earlier one of
  /// equals.
  SmallVector<unsigned> order(llvm::function_ref<int64_t(unsigned)> rank) {
    std::vector<int64_t> ranks(commands_.size());
    std::set<std::pair<int64_t, unsigned>> ready;
    auto insert = [&](unsigned command) {
      ++steps_;
      ranks[command] = rank(command);
      ready.insert({ranks[command], command});
    };
    for (unsigned command = 0; command < commands_.size(); ++command)
      if (waiting_.isReady(command))
        insert(command);
    SmallVector<unsigned> order;
    while (!ready.empty()) {
      unsigned next = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(next);
      if (isa<plan::StartOp>(commands_[next])) {
        ++begun_;
        for (auto [due, command] : llvm::to_vector(ready))
          if (isa<plan::FinishOp>(commands_[command]) &&
              ready.erase({due, command}))
            insert(command);
      }
      for (unsigned changed : growth_.take(next))
        if (ready.erase({ranks[changed], changed}))
          insert(changed);
      for (unsigned command : waiting_.take(next))
        insert(command);
    }
    return order;
  }

  /// Moves commands that can wait to the first one that depends on them.
  SmallVector<unsigned> late(SmallVector<unsigned> order) const {
    std::vector<size_t> places(order.size());
    for (auto [place, command] : llvm::enumerate(order))
      places[command] = place;
    for (unsigned command : llvm::reverse(order)) {
      auto of = [&](unsigned waiter) { return places[waiter]; };
      ArrayRef<unsigned> waiters = waiting_.waiters(command);
      if (growth_.canWait(command) && !waiters.empty())
        places[command] = *llvm::min_element(llvm::map_range(waiters, of));
    }
    // Commands of one place keep their order: those that moved stand in front.
    llvm::stable_sort(order, [&](unsigned one, unsigned other) {
      return places[one] < places[other];
    });
    return order;
  }

  SmallVector<Operation *> named(ArrayRef<unsigned> order) const {
    return llvm::map_to_vector(
        order, [&](unsigned number) { return commands_[number]; });
  }

  ArrayRef<Operation *> commands_;
  Waiting waiting_;
  Growth growth_;
  int64_t steps_ = 0;
  int64_t inFlight_;
  int64_t begun_ = 0; // collectives
};

struct Schedule : impl::ScheduleBase<Schedule> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    auto given = GivenOrder(graph).run();
    numberSums(given);
    Dependencies dependencies(graph, given);
    ListScheduler frugal(
        graph, given, dependencies,
        inFlight
            ? int64_t(inFlight)
            : distributionOf(graph->getParentOfType<ProgramOp>()).inFlight),
        faithful = frugal;
    auto found = frugal.least(), stable = faithful.given();
    remark::analysis(graph.getLoc(),
                     remark::RemarkOpts::name("Walked").category(getArgument()))
        << std::to_string(dependencies.steps() + frugal.steps() +
                          faithful.steps())
        << " steps from commands to what they wait for or lead to";
    // Waiting for each collective at once would save memory, and hide nothing.
    bool shares = !graph.getOps<plan::StartOp>().empty();
    bool smaller =
        !shares && peakOf(graph, found).bytes < peakOf(graph, stable).bytes;
    apply(graph, smaller ? found : stable);
    remark::analysis(
        graph.getLoc(),
        remark::RemarkOpts::name("Scheduled").category(getArgument()))
        << "order keeps at most "
        << std::to_string(peakOf(graph, smaller ? found : stable).bytes)
        << " bytes alive";
  }

  /// Moves all ops into order: reads and constants first, then each command
  /// after the names of memory that it reads, then the writes.
  static void apply(GraphOp graph, ArrayRef<Operation *> order) {
    Block &block = graph.getBody().front();
    SmallVector<Operation *> names, others;
    for (Operation &op : block.without_terminator())
      if (isa<ReadOp, arith::ConstantOp>(op))
        names.push_back(&op);
      else if (!isa<plan::Command>(op))
        others.push_back(&op);
    DenseSet<Operation *> placed;
    for (Operation *op : names)
      place(op, block, placed);
    for (Operation *command : order)
      place(command, block, placed);
    for (Operation *op : others)
      place(op, block, placed);
  }

  /// Moves `op` to the end of the block, after the names of memory it reads.
  static void place(Operation *op, Block &block,
                    DenseSet<Operation *> &placed) {
    if (!placed.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && maker->hasTrait<NamesMemory>())
        place(maker, block, placed);
    op->moveBefore(block.getTerminator());
  }
};

} // namespace
} // namespace gradus
