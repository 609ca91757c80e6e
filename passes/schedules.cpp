// Schedules as arithmetic of the step counter; see schedules.h. A new kind of
// piece is a function and a line of the table.

#include "passes/schedules.h"
#include "passes/state.h"

#include <numbers>
#include <optional>

using namespace mlir;
using namespace gradus;

namespace {

/// What a piece is computed from: scalars of f64 and its own keys.
struct Piece {
  const Arithmetic &math;
  const RecipeObject &recipe;
  Value step; // from the start of the piece, in units of `every` steps
  std::optional<double> steps; // how long it is in these units
  bool single = false;         // keys are numbers of f32, as SINGA's

  Value number(double value) const { return math.number(value, step); }
  double key(StringRef name, double otherwise) const {
    double number = recipe.number(name, otherwise);
    return single ? static_cast<float>(number) : number;
  }
  double length() const { return steps.value_or(1); }
  /// From 0 at its start to 1 at its end.
  Value progress() const { return math.divide(step, number(length())); }
  /// k / period, whole if `staircase`.
  Value periods() const {
    Value count = math.divide(step, number(key("period", 1)));
    return recipe.flag("staircase", false) ? math.floor(count) : count;
  }
  /// base^exponent.
  Value power(double base, Value exponent) const {
    return math.power(number(base), exponent);
  }
  /// From `from` to `to` as `progress` goes from 0 to 1.
  Value line(double from, double to, Value progress) const {
    return math.add(number(from), math.multiply(number(to - from), progress));
  }
  Value halfWave(double from, double to, Value progress) const {
    Value angle = math.multiply(number(std::numbers::pi), progress);
    Value wave = math.add(number(1), math.cosine(angle));
    return math.add(number(to), math.multiply(number((from - to) / 2), wave));
  }
};

//===-- kinds -------------------------------------------------------------===//

Value constant(const Piece &piece) {
  return piece.number(piece.key("value", 1));
}

/// The first step moves already; the last one has the full rate.
Value linearWarmup(const Piece &piece) {
  const Arithmetic &math = piece.math;
  Value next = math.add(piece.step, piece.number(1));
  return math.smaller(math.divide(next, piece.number(piece.length())),
                      piece.number(1));
}

Value linear(const Piece &piece) {
  return piece.line(piece.key("initial", 1), piece.key("final", 0),
                    piece.progress());
}

Value cosine(const Piece &piece) {
  double period = piece.key("period", piece.length());
  return piece.halfWave(1, piece.key("final", 0),
                        piece.math.divide(piece.step, piece.number(period)));
}

/// Each half wave is `growth` times as long as the one before.
Value cosineRestarts(const Piece &piece) {
  const Arithmetic &math = piece.math;
  double first = piece.key("period", 10), growth = piece.key("growth", 1);
  Value count, start, length = piece.number(first);
  // Restarts are at whole steps: half a step more keeps rounding away from
  // them.
  Value since = math.divide(math.add(piece.step, piece.number(0.5)), length);
  if (growth == 1) {
    count = math.floor(since);
    start = math.multiply(count, length);
  } else {
    Value sum = math.add(math.multiply(since, piece.number(growth - 1)),
                         piece.number(1));
    count = math.floor(
        math.divide(math.logarithm(sum), math.logarithm(piece.number(growth))));
    Value grown = piece.power(growth, count);
    start = math.multiply(math.subtract(grown, piece.number(1)),
                          piece.number(first / (growth - 1)));
    length = math.multiply(length, grown);
  }
  return piece.halfWave(1, piece.key("final", 0),
                        math.divide(math.subtract(piece.step, start), length));
}

Value steps(const Piece &piece) {
  const Arithmetic &math = piece.math;
  Value count =
      math.floor(math.divide(piece.step, piece.number(piece.key("period", 1))));
  return piece.power(piece.key("rate", 0.1), count);
}

Value multiStep(const Piece &piece) {
  const Arithmetic &math = piece.math;
  Value count = piece.number(0);
  for (double milestone : piece.recipe.numbers("milestones", {}))
    count = math.add(count,
                     math.select(math.less(piece.step, piece.number(milestone)),
                                 piece.number(0), piece.number(1)));
  return piece.power(piece.key("rate", 0.1), count);
}

Value exponential(const Piece &piece) {
  return piece.power(piece.key("rate", 0.9), piece.periods());
}

Value naturalExponential(const Piece &piece) {
  return piece.math.exponential(piece.math.multiply(
      piece.number(-piece.key("rate", 1)), piece.periods()));
}

Value inverseTime(const Piece &piece) {
  const Arithmetic &math = piece.math;
  Value slower =
      math.multiply(piece.number(piece.key("rate", 1)), piece.periods());
  return math.divide(piece.number(1), math.add(piece.number(1), slower));
}

/// With `cycle`, the length grows to the next multiple that is not passed yet.
Value polynomial(const Piece &piece) {
  const Arithmetic &math = piece.math;
  Value length = piece.number(piece.key("period", piece.length()));
  if (piece.recipe.flag("cycle", false)) {
    Value times = math.larger(piece.number(1),
                              math.ceiling(math.divide(piece.step, length)));
    length = math.multiply(length, times);
  }
  Value done = math.smaller(math.divide(piece.step, length), piece.number(1));
  Value left = math.power(math.subtract(piece.number(1), done),
                          piece.number(piece.key("power", 1)));
  return piece.line(piece.key("final", 0), 1, left);
}

/// Up to 1, down again and, with three phases, on to the end.
Value oneCycle(const Piece &piece) {
  const Arithmetic &math = piece.math;
  double total = piece.length(), rise = piece.key("rise", 0.3);
  double initial = piece.key("initial", 0.04), final = piece.key("final", 4e-6);
  bool isCosine = piece.recipe.text("shape", "cosine") == "cosine";
  struct Phase {
    double end, from, to;
  };
  SmallVector<Phase> phases = {{rise * total - 1, initial, 1}};
  if (piece.recipe.flag("three_phase", false))
    phases.push_back({2 * rise * total - 2, 1, initial});
  phases.push_back({total - 1, phases.back().to, final});
  Value result;
  double begin = 0;
  for (const Phase &phase : phases) {
    Value since = math.subtract(piece.step, piece.number(begin));
    Value progress = piece.number(1); // of a phase without a step
    if (phase.end > begin)
      progress = math.smaller(
          math.divide(since, piece.number(phase.end - begin)), progress);
    Value here = isCosine ? piece.halfWave(phase.from, phase.to, progress)
                          : piece.line(phase.from, phase.to, progress);
    result = result ? math.select(math.less(piece.number(begin), piece.step),
                                  here, result)
                    : here;
    begin = phase.end;
  }
  return result;
}

/// Up and down between two rates, again and again; each time less high by
/// `halve`, and by a power of `rate` each step.
Value cyclic(const Piece &piece) {
  const Arithmetic &math = piece.math;
  double rise = piece.key("rise", 2000), fall = piece.key("fall", rise);
  double low = piece.key("low", 0.1), rate = piece.key("rate", 1);
  Value total = piece.number(rise + fall);
  Value cycle = math.floor(math.divide(piece.step, total));
  Value since = math.subtract(piece.step, math.multiply(cycle, total));
  Value up = math.divide(since, piece.number(rise));
  Value down = math.divide(math.subtract(total, since), piece.number(fall));
  Value height = math.smaller(up, down);
  if (piece.recipe.flag("halve", false))
    height = math.multiply(height, piece.power(0.5, cycle));
  if (rate != 1)
    height = math.multiply(height, piece.power(rate, piece.step));
  return piece.line(low, piece.key("high", 1), height);
}

/// values[i] up to milestones[i], the last one from there on.
Value piecewise(const Piece &piece) {
  const Arithmetic &math = piece.math;
  SmallVector<double> values = piece.recipe.numbers("values", {1});
  Value result = piece.number(values.empty() ? 1 : values.back());
  SmallVector<double> milestones = piece.recipe.numbers("milestones", {});
  if (milestones.size() > values.size() ||
      milestones.size() + 1 < values.size())
    piece.recipe.error("milestones")
        << "has " << milestones.size() << " numbers for the " << values.size()
        << " of values, expected as many or one less";
  if (!llvm::is_sorted(milestones))
    piece.recipe.error("milestones") << "is not in ascending order";
  for (size_t i = std::min(milestones.size(), values.size()); i-- > 0;)
    result = math.select(math.less(piece.step, piece.number(milestones[i])),
                         piece.number(values[i]), result);
  return result;
}

/// values[k], the last one from there on: a sum in which one term counts.
Value list(const Piece &piece) {
  const Arithmetic &math = piece.math;
  SmallVector<double> values = piece.recipe.numbers("values", {1});
  if (values.empty())
    return piece.number(1);
  int64_t count = values.size();
  OpBuilder &builder = math.builder;
  auto type = RankedTensorType::get({count}, builder.getF64Type());
  Value table = arith::ConstantOp::create(
      builder, math.loc, DenseElementsAttr::get(type, ArrayRef(values)));
  Value last = math.smaller(piece.step, piece.number(count - 1));
  Value place = broadcastScalar(builder, math.loc, last, {count});
  Value index =
      convert(builder, math.loc,
              iota(builder, math.loc, type.clone(builder.getI64Type()), 0),
              builder.getF64Type());
  Value here = arith::CmpFOp::create(builder, math.loc,
                                     arith::CmpFPredicate::OEQ, index, place);
  return sum(builder, math.loc, math.select(here, table, math.number(0, table)),
             {0});
}

Value product(const Piece &piece);

struct Kind {
  StringRef name;
  Value (*factor)(const Piece &);
  bool needsSteps = false; // its formula has its length in it
};
const Kind kinds[] = {{"constant", constant},
                      {"linear_warmup", linearWarmup, true},
                      {"linear", linear, true},
                      {"cosine", cosine},
                      {"cosine_restarts", cosineRestarts},
                      {"step", steps},
                      {"multi_step", multiStep},
                      {"exponential", exponential},
                      {"natural_exponential", naturalExponential},
                      {"inverse_time", inverseTime},
                      {"polynomial", polynomial},
                      {"one_cycle", oneCycle, true},
                      {"cyclic", cyclic},
                      {"product", product},
                      {"piecewise", piecewise},
                      {"list", list}};

const Kind *findKind(const RecipeObject &piece) {
  std::string type = piece.text("type", "");
  SmallVector<StringRef> names;
  for (const Kind &kind : kinds) {
    if (kind.name == type)
      return &kind;
    names.push_back(kind.name);
  }
  piece.error("type") << "is \"" << type
                      << "\", expected one of: " << nearestFirst(type, names);
  return nullptr;
}

//===-- pieces one after the other ----------------------------------------===//

/// How long a piece is in units of its `every` steps; none for the last, open
/// one. Fails where it must say and does not.
FailureOr<std::optional<double>> lengthOf(const RecipeObject &piece,
                                          const Kind &kind, bool isLast) {
  bool formula = kind.needsSteps ||
                 ((kind.name == "cosine" || kind.name == "polynomial") &&
                  !piece.has("period"));
  if (!piece.has("steps")) {
    if (isLast && !formula)
      return std::optional<double>();
    return piece.error("steps")
           << "is missing, expected how long this piece is"
           << (formula ? "" : ": only the last one may go on");
  }
  int64_t steps = piece.integer("steps", 0);
  if (steps <= 0)
    return piece.error("steps") << "is " << steps << ", expected 1 or more";
  return std::optional<double>(steps);
}

/// From the start of a piece at `first`, held at its end.
Value sinceStart(const Arithmetic &math, Value step, double first,
                 int64_t every, std::optional<double> length) {
  Value since = math.subtract(step, math.number(first, step));
  if (every > 1)
    since = math.floor(math.divide(since, math.number(every, since)));
  return length ? math.smaller(since, math.number(*length, since)) : since;
}

int64_t everyOf(const RecipeObject &piece) {
  return std::max<int64_t>(1, piece.integer("every", 1));
}

/// Of several pieces that run side by side.
Value product(const Piece &piece) {
  Value result = piece.number(1);
  for (const RecipeObject &recipe : piece.recipe.objects("factors")) {
    const Kind *kind = findKind(recipe);
    if (!kind) // An error stands at the program.
      return result;
    auto length = lengthOf(recipe, *kind, /*isLast=*/true);
    if (failed(length))
      return result;
    Value since =
        sinceStart(piece.math, piece.step, 0, everyOf(recipe), *length);
    result = piece.math.multiply(
        result,
        kind->factor({piece.math, recipe, since, *length, piece.single}));
  }
  return result;
}

/// Joins the pieces of one hyperparameter's schedule.
class Sequence {
public:
  Sequence(const Arithmetic &math, Value step, bool single)
      : math(math), step(step), single(single) {}

  LogicalResult append(const RecipeObject &recipe, bool isLast) {
    const Kind *kind = findKind(recipe);
    if (!kind)
      return failure();
    auto length = lengthOf(recipe, *kind, isLast);
    if (failed(length))
      return failure();
    int64_t every = everyOf(recipe);
    Value since = sinceStart(math, step, first, every, *length);
    Value here = kind->factor({math, recipe, since, *length, single});
    factor = first == 0 ? here
                        : math.select(math.less(step, math.number(first, step)),
                                      factor, here);
    first += length->value_or(0) * every;
    return success();
  }

  Value factor;

private:
  const Arithmetic &math;
  Value step;
  bool single;
  double first = 0; // step of the next piece
};

/// What the optimizer has for a hyperparameter; `beta1` and `beta2` are its
/// `betas`.
FailureOr<double> initialOf(const RecipeObject &optimizer,
                            StringRef hyperparameter) {
  bool isBeta = hyperparameter == "beta1" || hyperparameter == "beta2";
  StringRef key = isBeta ? "betas" : hyperparameter;
  double initial = hyperparameter == "learning_rate" ? 1e-3 : 0;
  if (!isBeta)
    initial = optimizer.number(key, initial);
  else if (auto betas = optimizer.numbers(key, {}); betas.size() == 2)
    initial = betas[hyperparameter == "beta2"];
  if (initial != 0)
    return initial;
  return optimizer.error(key)
         << (optimizer.has(key) ? "is 0" : "is missing")
         << ", expected what the state @" << hyperparameter << " starts from";
}

/// What the API sets between steps, as a factor: the state over the number that
/// it starts from.
FailureOr<Value> factorOfState(const Arithmetic &math, ProgramOp program,
                               StringRef hyperparameter) {
  auto initial =
      initialOf(recipeOf(program).object("optimizer"), hyperparameter);
  if (failed(initial))
    return failure();
  auto type = RankedTensorType::get({}, math.builder.getF64Type());
  if (failed(ensureState(program, hyperparameter, type, Role::hyperparameter,
                         *initial)))
    return failure();
  Value value = readState(math.builder, math.loc, hyperparameter, type);
  return math.divide(value, math.number(*initial, value));
}

FailureOr<Value> factorFor(const Arithmetic &math, ProgramOp program,
                           StringRef hyperparameter, Value step) {
  auto pieces = recipeOf(program).object("schedule").objects(hyperparameter);
  if (pieces.size() == 1 && pieces[0].text("type", "") == "state")
    return factorOfState(math, program, hyperparameter);
  bool single = recipeOf(program).text("compat", "pytorch") == "singa";
  Sequence sequence(math, step, single);
  for (auto [index, piece] : llvm::enumerate(pieces))
    if (failed(sequence.append(piece, index + 1 == pieces.size())))
      return failure();
  return sequence.factor;
}

} // namespace

FailureOr<Schedules> Schedules::read(const Arithmetic &math, ProgramOp program,
                                     Value step) {
  Schedules result;
  for (const std::string &key : recipeOf(program).object("schedule").keys()) {
    FailureOr<Value> factor = factorFor(math, program, key, step);
    if (failed(factor))
      return failure();
    result.factors[key] = *factor;
  }
  return result;
}
