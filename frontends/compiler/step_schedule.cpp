// Sets counters to values and evaluates the ops that depend on them.

#include "frontends/compiler/step_schedule.h"

#include "ir/arithmetic.h"
#include "ir/evaluator/evaluator.h"
#include "passes/clock.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/run_length.h"
#include "passes/optimizers/schedules.h"
#include "runtime/well_known.h"

#include "absl/strings/str_cat.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <numeric>
#include <optional>
#include <set>

using namespace mlir;

namespace gradus::compiler {
namespace {

constexpr int64_t kFirstSteps = 192;     // listed one by one
constexpr int64_t kLongestPeriod = 4096; // of variants, in updates
constexpr int64_t kRatePoints = 240;

//===-- values ------------------------------------------------------------===//

/// Evaluates values of a graph for a value of the counters; keeps values that
/// do not depend on them.
class Evaluation {
public:
  /// Returns nothing if an op cannot be evaluated.
  std::optional<HostTensor> at(Value value, int64_t counter) {
    counter_ = counter;
    changing_.clear();
    return evaluate(value);
  }

  /// All ops that evaluation has visited.
  const SetVector<Operation *> &ops() const { return ops_; }

private:
  std::optional<HostTensor> evaluate(Value value) {
    if (auto kept = kept_.find(value); kept != kept_.end())
      return kept->second;
    if (auto made = changing_.find(value); made != changing_.end())
      return made->second;
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    ops_.insert(op);
    auto result = isa<ReadOp>(op) ? counter(value) : compute(op);
    if (result)
      (dependsOnCounter(op) ? changing_ : kept_)[value] = *result;
    return result;
  }

  std::optional<HostTensor> counter(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != 0 || !type.getElementType().isInteger())
      return std::nullopt;
    HostTensor tensor = zeros(type);
    tensor.integers.assign(1, counter_);
    return tensor;
  }

  std::optional<HostTensor> compute(Operation *op) {
    SmallVector<HostTensor> operands;
    for (Value operand : op->getOperands()) {
      std::optional<HostTensor> tensor = evaluate(operand);
      if (!tensor)
        return std::nullopt;
      operands.push_back(*std::move(tensor));
    }
    auto results = evaluateOp(op, operands);
    if (failed(results) || results->size() != 1)
      return std::nullopt;
    return std::move(results->front());
  }

  bool dependsOnCounter(Operation *op) {
    return isa<ReadOp>(op) ||
           llvm::any_of(op->getOperands(), [&](Value operand) {
             return changing_.contains(operand);
           });
  }

  int64_t counter_ = 0;
  llvm::DenseMap<Value, HostTensor> kept_, changing_;
  SetVector<Operation *> ops_;
};

/// Suppresses diagnostics about ops that cannot be evaluated.
class Silence : public ScopedDiagnosticHandler {
public:
  explicit Silence(MLIRContext *context)
      : ScopedDiagnosticHandler(context,
                                [](Diagnostic &) { return success(); }) {}
};

//===-- periods -----------------------------------------------------------===//

/// An integer that depends on the counter: it repeats after so many steps, or
/// it grows by one in them.
struct Course {
  int64_t steps = 1;
  bool grows = false;
};

/// Finds out from the ops behind a value how it depends on the counter.
class Courses {
public:
  /// Returns nothing if a value neither repeats nor counts. What compares the
  /// counter with a number is such.
  std::optional<Course> of(Value value) {
    auto [known, isNew] = known_.try_emplace(value);
    if (isNew) {
      std::optional<Course> course = find(value);
      known_[value] = course;
      return course;
    }
    return known->second;
  }

  /// The largest period of a remainder that was met, or 1.
  int64_t longestRemainder() const { return longestRemainder_; }

private:
  static constexpr int64_t kMost = int64_t(1) << 40;

  std::optional<Course> find(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (isa<ReadOp>(op))
      return Course{.steps = 1, .grows = true};
    bool divides = isa<arith::DivSIOp>(op), cuts = isa<arith::RemSIOp>(op);
    if (!divides && !cuts && !isa<arith::AddIOp>(op))
      return ofPeriodic(op);
    std::optional<Course> left = of(op->getOperand(0));
    std::optional<int64_t> right = constant(op->getOperand(1));
    if (!left || !left->grows || !right)
      return ofPeriodic(op);
    if (!divides && !cuts)
      return left;
    if (*right < 1 || *right > kMost / left->steps)
      return std::nullopt;
    Course result{.steps = left->steps * *right, .grows = divides};
    if (cuts)
      longestRemainder_ = std::max(longestRemainder_, result.steps);
    return result;
  }

  /// Repeats as all of the operands do.
  std::optional<Course> ofPeriodic(Operation *op) {
    int64_t period = 1;
    bool repeats = true;
    for (Value operand : op->getOperands()) {
      std::optional<Course> course = of(operand);
      if (!course || course->grows ||
          course->steps > kMost / (period / std::gcd(period, course->steps)))
        repeats = false; // The remainders of the others are still to be met.
      else
        period = std::lcm(period, course->steps);
    }
    return repeats ? std::optional(Course{.steps = period}) : std::nullopt;
  }

  static std::optional<int64_t> constant(Value value) {
    auto op = value.getDefiningOp<arith::ConstantOp>();
    auto values = op ? dyn_cast<DenseIntElementsAttr>(op.getValue())
                     : DenseIntElementsAttr();
    if (!values || !values.isSplat())
      return std::nullopt;
    return values.getSplatValue<APInt>().getSExtValue();
  }

  int64_t longestRemainder_ = 1;
  llvm::DenseMap<Value, std::optional<Course>> known_;
};

//===-- variants ----------------------------------------------------------===//

class Variants {
public:
  Variants(ProgramOp program, ScheduleOp schedule)
      : program_(program), schedule_(schedule),
        variants_(llvm::to_vector(schedule.getBody().getOps<VariantOp>())),
        batches_(stepsPerUpdate(program)) {}

  StepSchedule describe() {
    StepSchedule result;
    result.graph = schedule_.getGraph().str();
    for (VariantOp variant : variants_)
      result.variants.push_back(variant.getGraph().str());
    next_ = written();
    if (next_)
      byState(result);
    else
      byNumber(result);
    return result;
  }

private:
  /// The last variant whose steps include the counter, else the first variant.
  int variantOf(int64_t counter) {
    int chosen = 0;
    for (auto [i, variant] : llvm::enumerate(variants_))
      if (counter % int64_t(variant.getEvery()) == int64_t(variant.getAt()))
        chosen = i;
    return chosen;
  }

  /// The value that the step writes to the counter; null if it only counts
  /// steps.
  Value written() {
    StringRef counter = schedule_.getCounter().value_or(well_known::kStep);
    GraphOp graph = program_.getGraph(schedule_.getGraph());
    if (!graph || counter == well_known::kStep ||
        counter == well_known::kAcceptedSteps)
      return {};
    for (auto write : graph.getBody().front().getOps<WriteOp>())
      if (write.getState() == counter)
        return write.getValue();
    return {};
  }

  void byNumber(StepSchedule &result) {
    int64_t period = 1;
    for (VariantOp variant : variants_)
      period = std::lcm(period, int64_t(variant.getEvery()));
    period = std::min(period, kLongestPeriod);
    std::vector<int> steps;
    for (int64_t step = 0; step < period; ++step)
      steps.push_back(variantOf(step));
    takeShares(result, steps);
    for (int64_t step = 0; step < kFirstSteps; ++step)
      result.first.push_back(variantOf(step));
  }

  void takeShares(StepSchedule &result, ArrayRef<int> steps) {
    result.period = steps.size();
    result.shares.assign(variants_.size(), 0);
    for (int variant : steps)
      result.shares[variant] += 1.0 / steps.size();
  }

  /// The variant of a step, which the step before it has written.
  std::optional<int> variantAt(int64_t step) {
    std::optional<HostTensor> value;
    if (step > 0)
      value = evaluation_.at(next_, step - 1);
    else if (StateOp state = program_.getState(*schedule_.getCounter()))
      value = initial(state);
    if (!value || value->integers.size() != 1)
      return std::nullopt;
    return variantOf(value->integers.front());
  }

  static std::optional<HostTensor> initial(StateOp state) {
    if (InitAttr init = state.getInitAttr()) {
      HostTensor tensor = zeros(cast<RankedTensorType>(state.getType()));
      if (init.getValue())
        tensor.integers.assign(1, int64_t(init.getValue().getValueAsDouble()));
      return tensor;
    }
    FailureOr<HostTensor> tensor = toHost(state.getValueAttr());
    return failed(tensor) ? std::nullopt : std::optional(*tensor);
  }

  void byState(StepSchedule &result) {
    for (int64_t step = 0; step < kFirstSteps; ++step)
      if (std::optional<int> variant = variantAt(step))
        result.first.push_back(*variant);
      else
        return;
    Courses courses;
    std::optional<Course> course = courses.of(next_);
    if (course && !course->grows)
      takePeriod(result, std::lcm(course->steps, batches_));
    else if (courses.longestRemainder() <= batches_)
      takeChanges(result); // Else changes and a period are mixed.
  }

  /// By the table where that is all that repeats, else by each update.
  void takePeriod(StepSchedule &result, int64_t period) {
    for (Operation *op : SmallVector<Operation *>(evaluation_.ops().begin(),
                                                  evaluation_.ops().end()))
      if (std::vector<int64_t> table = tableIn(op);
          int64_t(table.size()) * batches_ == period) {
        takeTable(result, table);
        if (!result.shares.empty())
          return;
        break; // Others than the table choose, too.
      }
    if (period / batches_ <= kLongestPeriod)
      takeUpdates(result, period);
  }

  /// All batches of an update but the last run the same variant. The period
  /// begins behind the first one, whose first step no step has chosen.
  void takeUpdates(StepSchedule &result, int64_t period) {
    std::vector<int> steps;
    for (int64_t step = period; step < 2 * period; step += batches_) {
      if (batches_ > 1)
        steps.insert(steps.end(), batches_ - 1, variantAt(step).value_or(0));
      steps.push_back(variantAt(step + batches_ - 1).value_or(0));
    }
    takeShares(result, steps);
  }

  static std::vector<int64_t> numbersIn(DenseIntElementsAttr values) {
    std::vector<int64_t> numbers;
    for (const APInt &value : values.getValues<APInt>())
      numbers.push_back(value.getSExtValue());
    return numbers;
  }

  /// A constant list in which the step may look up its next update.
  static std::vector<int64_t> tableIn(Operation *op) {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                           : DenseIntElementsAttr();
    return values && values.getType().getRank() == 1 ? numbersIn(values)
                                                     : std::vector<int64_t>();
  }

  /// Equal entries give equal variants, so one of each is evaluated, for every
  /// batch of an update.
  void takeTable(StepSchedule &result, ArrayRef<int64_t> table) {
    std::map<int64_t, std::vector<int>> variants;
    for (auto [update, entry] : llvm::enumerate(table))
      if (auto [found, isNew] = variants.try_emplace(entry); isNew)
        for (int64_t batch = 0; batch < batches_; ++batch)
          found->second.push_back(
              variantAt(update * batches_ + batch).value_or(0));
    for (auto [step, variant] : llvm::enumerate(result.first)) {
      int64_t entry = table[step / batches_ % table.size()];
      if (variants[entry][step % batches_] != variant)
        return; // The update's number is not the index.
    }
    std::vector<int> steps;
    for (int64_t entry : table)
      llvm::append_range(steps, variants[entry]);
    takeShares(result, steps);
  }

  /// The largest number of updates whose steps can be counted.
  int64_t mostUpdates() const { return INT64_MAX / batches_ - 3; }

  /// A step that compares its number with constants, or with a list of them,
  /// changes at those numbers.
  void takeChanges(StepSchedule &result) {
    std::set<int64_t> updates = {0};
    for (Operation *op : evaluation_.ops())
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto values = dyn_cast<DenseIntElementsAttr>(constant.getValue()))
          for (int64_t number : numbersIn(values))
            for (int64_t near = -2; near <= 2; ++near)
              updates.insert(std::clamp<int64_t>(number, 0, mostUpdates()) +
                             near);
    updates.erase(updates.begin(), updates.lower_bound(0));
    for (int64_t update : updates) // the last batch of each updates
      if (auto variant = variantAt(update * batches_ + batches_ - 1);
          variant &&
          (result.changes.empty() || result.changes.back().variant != *variant))
        result.changes.push_back({update * batches_, *variant});
  }

  ProgramOp program_;
  ScheduleOp schedule_;
  SmallVector<VariantOp> variants_;
  int64_t batches_; // for each update
  Value next_;
  Evaluation evaluation_;
};

//===-- the learning rate -------------------------------------------------===//

/// The factor at a step; `scratch` is a program of its own with the recipe.
std::optional<double> factorAt(ProgramOp scratch, int64_t step) {
  Block block;
  OpBuilder builder(scratch.getContext());
  builder.setInsertionPointToEnd(&block);
  Arithmetic math(builder, scratch.getLoc());
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  Value now = splat(builder, scratch.getLoc(), scalar, step);
  FailureOr<Schedules> schedules = Schedules::read(math, scratch, now);
  Value factor =
      failed(schedules) ? Value() : schedules->factorOf("learning_rate");
  std::optional<HostTensor> value;
  if (factor)
    value = Evaluation().at(factor, step);
  if (!value || value->floats.size() != 1)
    return std::nullopt;
  return value->floats.front();
}

} // namespace

void updateStepSchedules(ProgramOp program,
                         std::vector<StepSchedule> &schedules) {
  Silence silence(program.getContext());
  for (auto schedule : program.getBody().getOps<ScheduleOp>()) {
    if (schedule.getCounter() == well_known::kTurn)
      continue; // of the turns of one step
    auto known = llvm::find_if(schedules, [&](const StepSchedule &each) {
      return each.graph == schedule.getGraph();
    });
    if (known == schedules.end())
      known = schedules.insert(known, StepSchedule());
    auto variants = schedule.getBody().getOps<VariantOp>();
    if (known->variants.size() != size_t(llvm::range_size(variants)))
      *known = Variants(program, schedule).describe();
  }
}

RateCourse learningRates(ProgramOp program) {
  Silence silence(program.getContext());
  double rate =
      optimizerOfRecipe(program).as<OptimizerSettings>().learningRate.initial;
  OpBuilder builder(program.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(program.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  RateCourse course;
  auto scratch =
      ProgramOp::create(builder, program.getLoc(), "scratch",
                        withRunLength(program, well_known::kAssumedUpdates,
                                      well_known::kAssumedUpdatesPerEpoch));
  builder.createBlock(&scratch.getBody());
  std::optional<int64_t> length = scheduleLength(scratch);
  if (!length)
    return {{{0, rate}}, ""};
  if (awaitsRunLength(program))
    course.run =
        absl::StrCat(well_known::kAssumedUpdates, " updates in epochs of ",
                     well_known::kAssumedUpdatesPerEpoch);
  int64_t points = std::min(*length, kRatePoints);
  for (int64_t i = 0; i <= points; ++i) {
    int64_t step = double(*length) * i / points;
    std::optional<double> factor = factorAt(scratch, step);
    if (!factor)
      return {};
    course.points.push_back({step, rate * *factor});
  }
  return course;
}

} // namespace gradus::compiler
