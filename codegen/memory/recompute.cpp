// Trades time for memory: commands of the forward pass run again for the
// backward pass instead of keeping their results. The pass works on scheduled
// commands, so that the second run is the same code on the same bits and has a
// position in the order. Codegen runs it only under a memory limit.
//
// Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory
// Cost", 2016, sections 3 and 4; cuts are chosen where few bytes cross.

#include "codegen/memory/liveness.h"
#include "codegen/plan/passes.h"
#include "runtime/well_known.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_RECOMPUTE
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;

/// The commands of a training graph, the readers of their results, and the
/// extent of the forward pass: up to the command where most bytes are live,
/// which is at the loss or soon after it.
class Step {
public:
  explicit Step(GraphOp graph)
      : commands_(commandsOf(graph)),
        forward_(commands_.empty() ? 0 : peakOf(graph, commands_).command + 1) {
    for (auto [index, command] : llvm::enumerate(commands_)) {
      number_[command] = index;
      for (Value operand : command->getOperands())
        readers_[storageOf(operand)].push_back(index);
    }
    for (Operation &op : graph.getBody().front())
      if (isa<ReturnOp, WriteOp>(op))
        for (Value operand : op.getOperands())
          keptAnyway_.insert(storageOf(operand));
  }

  /// The number of commands in the forward pass.
  size_t forward() const { return forward_; }
  Operation *command(size_t number) const { return commands_[number]; }
  /// Whether a value is live to the end: returned, or written to a state.
  bool isKeptAnyway(Value value) const { return keptAnyway_.contains(value); }
  /// Whether an op is a command of the backward pass.
  bool isLate(Operation *op) const {
    auto found = number_.find(op);
    return found != number_.end() && found->second >= forward_;
  }
  /// The number of the defining command; -1 for inputs, states and constants.
  int64_t maker(Value value) const {
    auto found = number_.find(storageOf(value).getDefiningOp());
    return found == number_.end() ? -1 : int64_t(found->second);
  }
  /// Numbers of the commands that read a command's result, ascending.
  ArrayRef<size_t> readers(Value result) const {
    auto found = readers_.find(result);
    return found == readers_.end() ? ArrayRef<size_t>() : found->second;
  }

private:
  SmallVector<Operation *> commands_;
  size_t forward_;
  DenseMap<Operation *, size_t> number_;
  DenseMap<Value, SmallVector<size_t>> readers_;
  DenseSet<Value> keptAnyway_;
};

//===-- cuts --------------------------------------------------------------===//

/// For each command of the forward pass: the bytes of results up to it, and the
/// bytes that it and earlier commands pass to later ones.
struct Profile {
  std::vector<int64_t> made, crossing;

  explicit Profile(const Step &step) {
    std::vector<int64_t> change(step.forward() + 1, 0);
    int64_t sum = 0;
    for (size_t at = 0; at < step.forward(); ++at) {
      for (Value result : step.command(at)->getResults()) {
        int64_t bytes = paddedBytes(result.getType());
        sum += bytes;
        change[at] += bytes;
        change[lastForwardReader(step, result, at)] -= bytes;
      }
      made.push_back(sum);
    }
    int64_t live = 0;
    for (size_t at = 0; at < made.size(); ++at)
      crossing.push_back(live += change[at]);
  }

private:
  static size_t lastForwardReader(const Step &step, Value result, size_t at) {
    for (size_t reader : step.readers(result))
      if (reader < step.forward())
        at = std::max(at, reader);
    return at;
  }
};

/// The starts of segments, and the end: near each even cut the one that the
/// fewest bytes cross.
SmallVector<size_t> segmentBounds(const Profile &profile, unsigned segments) {
  size_t count = profile.made.size();
  SmallVector<size_t> bounds = {0};
  int64_t whole = profile.made.empty() ? 0 : profile.made.back();
  for (unsigned s = 1; s < segments; ++s) {
    int64_t low = whole * (2 * s - 1) / (2 * segments),
            high = whole * (2 * s + 1) / (2 * segments);
    size_t best = count;
    for (size_t at = bounds.back(); at + 1 < count && profile.made[at] < high;
         ++at)
      if (profile.made[at] >= low &&
          (best == count || profile.crossing[at] <= profile.crossing[best]))
        best = at;
    if (best != count)
      bounds.push_back(best + 1);
  }
  bounds.push_back(count);
  return bounds;
}

//===-- one segment -------------------------------------------------------===//

/// The commands from `begin` up to `end`.
class Segment {
public:
  Segment(const Step &step, size_t begin, size_t end)
      : step_(step), begin_(begin), end_(end) {}

  /// Repeats the commands that the backward pass needs, just before their first
  /// use there; returns their number.
  unsigned recompute() {
    collectKept();
    std::vector<bool> wanted = needed();
    if (kept_.empty() || takesMoreThanItFrees(wanted))
      return 0;
    OpBuilder builder(step_.command(first_));
    for (size_t at = begin_; at < end_; ++at)
      if (wanted[at - begin_])
        cloneCommand(builder, step_.command(at));
    for (Value value : kept_)
      replaceLateUses(builder, value, mapping_.lookup(value));
    return llvm::count(wanted, true);
  }

private:
  bool isHere(int64_t command) const {
    return command >= int64_t(begin_) && command < int64_t(end_);
  }

  /// A result that the backward pass reads, and the first command that does.
  struct Read {
    Value value;
    size_t by;
  };

  /// Collects results that the backward pass reads and later segments do not.
  void collectKept() {
    SmallVector<Read> found;
    for (size_t at = begin_; at < end_; ++at)
      for (Value result : step_.command(at)->getResults()) {
        ArrayRef<size_t> readers = step_.readers(result);
        if (!mustStay(result) && !step_.isKeptAnyway(result) &&
            !readers.empty() && readers.back() >= step_.forward())
          found.push_back(
              {result, *llvm::lower_bound(readers, step_.forward())});
      }
    first_ = firstReader(found);
    for (const Read &read : found)
      if (read.by < first_)
        staying_.insert(read.value);
      else
        kept_.push_back(read.value);
  }

  /// The reader before which the segment is recomputed. That is the first one,
  /// unless what it reads is little and keeping it frees the rest for far
  /// longer: a refresh of curvature reads what it has measured soon after the
  /// loss. Counts bytes times the commands for which they are free.
  size_t firstReader(ArrayRef<Read> found) const {
    SmallVector<Read> lastFirst(found);
    llvm::sort(lastFirst, [](const Read &one, const Read &other) {
      return one.by > other.by;
    });
    int64_t bytes = 0, freed = 0, most = 0;
    size_t best = 0;
    for (const Read &read : lastFirst) {
      bytes += paddedBytes(read.value.getType());
      freed = bytes * int64_t(read.by - step_.forward() + 1);
      if (freed > most)
        most = freed, best = read.by;
    }
    bool isWorthMore = most >= 2 * freed;
    return isWorthMore || found.empty() ? best : lastFirst.back().by;
  }

  bool crosses(Value result) const {
    return llvm::any_of(step_.readers(result), [&](size_t reader) {
      return reader >= end_ && reader < step_.forward();
    });
  }

  static bool runsOnce(Operation *op) {
    auto command = dyn_cast_or_null<plan::Command>(op);
    return command && !command.mayRunTwice();
  }

  /// Whether the backward pass reads the first value: it is alive anyway, or
  /// the command that makes it may run only once, or one that takes it, which
  /// may change it.
  bool mustStay(Value result) const {
    return crosses(result) || staying_.contains(result) ||
           runsOnce(result.getDefiningOp()) ||
           llvm::any_of(result.getUsers(), runsOnce);
  }

  /// Returns the commands of the segment that kept values take. Values that
  /// stay need none.
  std::vector<bool> needed() const {
    std::vector<bool> wanted(end_ - begin_, false);
    SmallVector<Value> stack(kept_);
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      int64_t maker = step_.maker(value);
      if (!isHere(maker) || wanted[maker - begin_] || mustStay(value))
        continue;
      wanted[maker - begin_] = true;
      for (Value operand : step_.command(maker)->getOperands())
        stack.push_back(storageOf(operand));
    }
    return wanted;
  }

  /// Whether one of the commands makes more than all kept values are, which are
  /// better kept then.
  bool takesMoreThanItFrees(const std::vector<bool> &wanted) const {
    int64_t kept = 0, largest = 0;
    for (Value value : kept_)
      kept += paddedBytes(value.getType());
    for (size_t at = begin_; at < end_; ++at)
      if (wanted[at - begin_])
        for (Type type : step_.command(at)->getResultTypes())
          largest = std::max(largest, paddedBytes(type));
    return largest > kept;
  }

  /// Clones a command with the reshapes of its operands.
  void cloneCommand(OpBuilder &builder, Operation *command) {
    Operation *second = command->clone();
    for (OpOperand &operand : second->getOpOperands())
      operand.set(again(builder, operand.get()));
    builder.insert(second);
    mapping_.map(command->getResults(), second->getResults());
  }

  /// The operand of a clone: the recomputed value, else the value itself.
  Value again(OpBuilder &builder, Value value) {
    Value found = mapping_.lookupOrNull(value);
    if (found && !crosses(value))
      return found;
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return value;
    Value source = again(builder, reshape.getInput());
    return source == reshape.getInput()
               ? value
               : ReshapeOp::create(builder, reshape.getLoc(), reshape.getType(),
                                   source);
  }

  /// Replaces uses of `value`, and of reshapes of it, in the backward pass by
  /// `now`.
  void replaceLateUses(OpBuilder &builder, Value value, Value now) {
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *user = use.getOwner();
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        replaceLateUses(builder, reshape.getResult(),
                        ReshapeOp::create(builder, reshape.getLoc(),
                                          reshape.getType(), now));
      else if (step_.isLate(user))
        use.set(now);
    }
  }

  const Step &step_;
  size_t begin_, end_;
  size_t first_ = 0; // the first backward reader of kept values
  SmallVector<Value> kept_;
  DenseSet<Value> staying_; // read before that
  IRMapping mapping_;
};

//===-- the pass ----------------------------------------------------------===//

/// Whether steps run a graph: it is @train, or its schedule names it.
bool isStep(GraphOp graph) {
  StringRef name = graph.getSymName();
  auto program = graph->getParentOfType<ProgramOp>();
  return name == well_known::kTrain ||
         llvm::any_of(
             program.getBody().getOps<ScheduleOp>(), [&](ScheduleOp schedule) {
               return schedule.getGraph() == well_known::kTrain &&
                      llvm::any_of(schedule.getBody().getOps<VariantOp>(),
                                   [&](VariantOp variant) {
                                     return variant.getGraph() == name;
                                   });
             });
}

struct Recompute : impl::RecomputeBase<Recompute> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    if (!isStep(graph))
      return;
    Step step(graph);
    SmallVector<size_t> bounds = segmentBounds(Profile(step), segments);
    unsigned last = bounds.size() - 2, count = 0;
    for (unsigned s = 0; s < std::min<unsigned>(recomputed, last); ++s)
      count += Segment(step, bounds[s], bounds[s + 1]).recompute();
    remark::passed(
        graph.getLoc(),
        remark::RemarkOpts::name("Recomputed").category(getArgument()))
        << std::to_string(count) << " commands of " << std::to_string(last + 1)
        << " segments run twice";
  }
};

} // namespace
} // namespace gradus
