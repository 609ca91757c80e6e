// The kinds of pieces; see schedule_pieces.h. A new kind is a function and a
// line of factors().

#include "passes/optimizers/schedule_pieces.h"

#include "passes/numbers.h"
#include "passes/optimizers/keys.h"

using namespace mlir;
using namespace gradus;
using recipe::Field;
using recipe::Fields;
using enum recipe::Kind;

namespace {

Fields timed() { return {timingKeys().begin(), timingKeys().end()}; }

template <typename Settings>
PieceKind kind(std::string_view name, Fields keys,
               Value (*factor)(const SchedulePiece &, const Settings &)) {
  auto read = [factor](const SchedulePiece &piece, const recipe::Value &own) {
    return factor(piece, own.as<Settings>());
  };
  return {name, std::move(keys), read};
}

/// The same of a piece whose formula has its length in it, unless it has the
/// key.
template <typename Settings>
PieceKind kindOfLength(std::string_view name, Fields keys,
                       Value (*factor)(const SchedulePiece &, const Settings &),
                       std::string_view unless = "") {
  PieceKind made = kind(name, std::move(keys), factor);
  made.insteadOfSteps = unless;
  return made;
}

Field finalFactor(std::string_view fallback = "0.0") {
  return amount("final", fallback, "the factor at its end");
}

Field period(std::string_view fallback, std::string_view help) {
  return Field{"period", number, fallback, help}.from(1);
}

/// A period, or the whole piece where it is null.
Value periodOf(const SchedulePiece &piece, std::optional<double> period) {
  return period ? piece.number(piece.rounded(*period)) : piece.length();
}

Field changeRate() { return amount("rate", "0.1", "of a change"); }

Field milestones() {
  return numbers("milestones", "[]", "steps at which it changes");
}

//===-- kinds -------------------------------------------------------------===//

struct Constant {
  double value = 1;
};

PieceKind constant() {
  return kind<Constant>(
      "constant",
      timed() +
          Fields{amount("value", "1.0", "the factor").into(&Constant::value)},
      [](const SchedulePiece &piece, const Constant &settings) {
        return piece.number(piece.rounded(settings.value));
      });
}

struct Nothing {};

/// The first step moves already; the last one has the full rate.
PieceKind linearWarmup() {
  PieceKind made = kindOfLength<Nothing>(
      "linear_warmup", timed(),
      [](const SchedulePiece &piece, const Nothing &) {
        const Arithmetic &math = piece.math;
        Value next = math.add(piece.step, piece.tick);
        return math.smaller(math.divide(next, piece.length()), piece.number(1));
      });
  made.countsFromEnd = true;
  return made;
}

struct Linear {
  double initial = 1, final = 0;
};

PieceKind linear() {
  return kindOfLength<Linear>(
      "linear",
      timed() + Fields{amount("initial", "1.0", "the factor at its start")
                           .into(&Linear::initial),
                       finalFactor().into(&Linear::final)},
      [](const SchedulePiece &piece, const Linear &settings) {
        return piece.line(piece.rounded(settings.initial),
                          piece.rounded(settings.final), piece.progress());
      });
}

struct Cosine {
  std::optional<double> period;
  double final = 0;
};

PieceKind cosine() {
  return kindOfLength<Cosine>(
      "cosine",
      timed() + Fields{period("null", "steps down; null: all of them")
                           .into(&Cosine::period),
                       finalFactor().into(&Cosine::final)},
      [](const SchedulePiece &piece, const Cosine &settings) {
        return piece.halfWave(
            1, piece.rounded(settings.final),
            piece.math.divide(piece.step, periodOf(piece, settings.period)));
      },
      "period");
}

struct Restarts {
  double period = 0, growth = 1, final = 0;
};

/// Each half wave is `growth` times as long as the one before.
Value restarting(const SchedulePiece &piece, const Restarts &settings) {
  const Arithmetic &math = piece.math;
  double first = piece.rounded(settings.period);
  double growth = piece.rounded(settings.growth);
  Value count, start, length = piece.number(first);
  // Restarts are at whole steps: half a step more keeps rounding away from
  // them.
  Value since =
      math.divide(math.add(piece.step, math.scale(0.5, piece.tick)), length);
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
  return piece.halfWave(1, piece.rounded(settings.final),
                        math.divide(math.subtract(piece.step, start), length));
}

PieceKind cosineRestarts() {
  return kind("cosine_restarts",
              timed() + Fields{period("10", "steps until the first restart")
                                   .into(&Restarts::period),
                               Field{"growth", number, "1.0",
                                     "of the period at a restart"}
                                   .from(1)
                                   .into(&Restarts::growth),
                               finalFactor().into(&Restarts::final)},
              restarting);
}

struct Stairs {
  double period = 0, rate = 0;
};

PieceKind stairs() {
  return kind<Stairs>(
      "step",
      timed() +
          Fields{period("10", "steps between changes").into(&Stairs::period),
                 changeRate().into(&Stairs::rate)},
      [](const SchedulePiece &piece, const Stairs &settings) {
        double period = piece.rounded(settings.period);
        Value count = piece.math.floor(
            piece.math.divide(piece.step, piece.number(period)));
        return piece.power(piece.rounded(settings.rate), count);
      });
}

struct MultiStep {
  std::vector<double> milestones;
  double rate = 0;
};

PieceKind multiStep() {
  return kind<MultiStep>(
      "multi_step",
      timed() + Fields{milestones().into(&MultiStep::milestones),
                       changeRate().into(&MultiStep::rate)},
      [](const SchedulePiece &piece, const MultiStep &settings) {
        const Arithmetic &math = piece.math;
        Value count = piece.number(0);
        for (double milestone : settings.milestones)
          count = math.add(
              count, math.select(math.less(piece.step, piece.number(milestone)),
                                 piece.number(0), piece.number(1)));
        return piece.power(piece.rounded(settings.rate), count);
      });
}

struct Decaying {
  double rate = 0, period = 1;
  bool isStaircase = false;

  /// k / period, whole if `staircase`.
  Value periods(const SchedulePiece &piece) const {
    const Arithmetic &math = piece.math;
    Value count = math.divide(piece.step, piece.number(piece.rounded(period)));
    return isStaircase ? math.floor(count) : count;
  }
};

Fields decaying(std::string_view rate, std::string_view help) {
  return timed() + Fields{amount("rate", rate, help).into(&Decaying::rate),
                          period("1", "steps of one power of the rate")
                              .into(&Decaying::period),
                          flag("staircase", "whole periods count")
                              .into(&Decaying::isStaircase)};
}

PieceKind exponential() {
  return kind<Decaying>(
      "exponential", decaying("0.9", "of a period"),
      [](const SchedulePiece &piece, const Decaying &settings) {
        return piece.power(piece.rounded(settings.rate),
                           settings.periods(piece));
      });
}

PieceKind naturalExponential() {
  return kind<Decaying>(
      "natural_exponential", decaying("1.0", "the exponent, per period"),
      [](const SchedulePiece &piece, const Decaying &settings) {
        return piece.math.exponential(
            piece.math.multiply(piece.number(-piece.rounded(settings.rate)),
                                settings.periods(piece)));
      });
}

PieceKind inverseTime() {
  return kind<Decaying>(
      "inverse_time", decaying("1.0", "what a period adds to the divisor"),
      [](const SchedulePiece &piece, const Decaying &settings) {
        const Arithmetic &math = piece.math;
        Value slower = math.multiply(piece.number(piece.rounded(settings.rate)),
                                     settings.periods(piece));
        return math.divide(piece.number(1), math.add(piece.number(1), slower));
      });
}

struct Polynomial {
  std::optional<double> period;
  double power = 1, final = 0;
  bool cycles = false;
};

/// With `cycle`, the length grows to the next multiple that is not passed yet.
Value falling(const SchedulePiece &piece, const Polynomial &settings) {
  const Arithmetic &math = piece.math;
  Value length = periodOf(piece, settings.period);
  if (settings.cycles) {
    Value times = math.larger(piece.number(1),
                              math.ceiling(math.divide(piece.step, length)));
    length = math.multiply(length, times);
  }
  Value done = math.smaller(math.divide(piece.step, length), piece.number(1));
  Value left = math.power(math.subtract(piece.number(1), done),
                          piece.number(piece.rounded(settings.power)));
  return piece.line(piece.rounded(settings.final), 1, left);
}

PieceKind polynomial() {
  using P = Polynomial;
  return kindOfLength(
      "polynomial",
      timed() +
          Fields{
              period("null", "steps down; null: all of them").into(&P::period),
              amount("power", "1.0", "of what is left").into(&P::power),
              finalFactor().into(&P::final),
              flag("cycle", "the period grows to a multiple of itself "
                            "instead of ending")
                  .into(&P::cycles)},
      falling, "period");
}

enum class Shape { cosine, linear };

struct OneCycle {
  double rise = 0, initial = 0, final = 0;
  Shape shape = Shape::cosine;
  bool hasThreePhases = false;
};

/// From 0 at the start of a phase to 1 at its end; 1 in one without a step.
Value progressOf(const SchedulePiece &piece, Value since, Value span) {
  const Arithmetic &math = piece.math;
  Value whole = piece.number(1);
  std::optional<double> known = knownNumber(span);
  if (known && *known <= 0)
    return whole;
  Value progress = math.smaller(math.divide(since, span), whole);
  return known ? progress
               : math.select(math.less(piece.number(0), span), progress, whole);
}

/// Up to 1, down again and, with three phases, on to the end.
Value upAndDown(const SchedulePiece &piece, const OneCycle &settings) {
  const Arithmetic &math = piece.math;
  Value total = piece.length();
  double rise = piece.rounded(settings.rise);
  double initial = piece.rounded(settings.initial);
  double final = piece.rounded(settings.final);
  struct Phase {
    double part, before; // it ends `before` steps before that part of the piece
    double from, to;
  };
  SmallVector<Phase> phases = {{rise, 1, initial, 1}};
  if (settings.hasThreePhases)
    phases.push_back({2 * rise, 2, 1, initial});
  phases.push_back({1, 1, phases.back().to, final});
  Value result, begin = piece.number(0);
  for (const Phase &phase : phases) {
    Value end = math.subtract(math.scale(phase.part, total),
                              math.scale(phase.before, piece.tick));
    Value progress = progressOf(piece, math.subtract(piece.step, begin),
                                math.subtract(end, begin));
    Value here = settings.shape == Shape::cosine
                     ? piece.halfWave(phase.from, phase.to, progress)
                     : piece.line(phase.from, phase.to, progress);
    result =
        result ? math.select(math.less(begin, piece.step), here, result) : here;
    begin = end;
  }
  return result;
}

PieceKind oneCycle() {
  using O = OneCycle;
  return kindOfLength(
      "one_cycle",
      timed() +
          Fields{rate("rise", "0.3", "part of the steps on the way up")
                     .into(&O::rise),
                 amount("initial", "0.04", "the factor at its start")
                     .into(&O::initial),
                 finalFactor("4e-6").into(&O::final),
                 Field{"shape", choice, "\"cosine\"", "of its ways"}
                     .among({{"cosine"}, {"linear"}})
                     .into(&O::shape),
                 flag("three_phase", "come down as far as the start first")
                     .into(&O::hasThreePhases)},
      upAndDown);
}

struct Cyclic {
  double rise = 0;
  std::optional<double> fall;
  double low = 0, high = 1, rate = 1;
  bool halves = false;
};

/// Up and down between two rates, again and again; each time less high by
/// `halve`, and by a power of `rate` each step.
Value waves(const SchedulePiece &piece, const Cyclic &settings) {
  const Arithmetic &math = piece.math;
  double rise = piece.rounded(settings.rise);
  double fall = settings.fall ? piece.rounded(*settings.fall) : rise;
  double low = piece.rounded(settings.low), rate = piece.rounded(settings.rate);
  Value total = piece.number(rise + fall);
  Value cycle = math.floor(math.divide(piece.step, total));
  Value since = math.subtract(piece.step, math.multiply(cycle, total));
  Value up = math.divide(since, piece.number(rise));
  Value down = math.divide(math.subtract(total, since), piece.number(fall));
  Value height = math.smaller(up, down);
  if (settings.halves)
    height = math.multiply(height, piece.power(0.5, cycle));
  if (rate != 1)
    height = math.multiply(height, piece.power(rate, piece.step));
  return piece.line(low, piece.rounded(settings.high), height);
}

PieceKind cyclic() {
  using C = Cyclic;
  return kind(
      "cyclic",
      timed() +
          Fields{
              Field{"rise", number, "2000", "steps up"}.from(1).into(&C::rise),
              Field{"fall", number, "null", "steps down; null: as many"}
                  .from(1)
                  .into(&C::fall),
              amount("low", "0.1", "the factor at its start").into(&C::low),
              amount("high", "1.0", "the factor that it rises to")
                  .into(&C::high),
              flag("halve", "half as high each time").into(&C::halves),
              amount("rate", "1.0", "of the height, a step").into(&C::rate)},
      waves);
}

struct Piecewise {
  std::vector<double> milestones, values;
};

/// values[i] up to milestones[i], the last one from there on.
Value between(const SchedulePiece &piece, const Piecewise &settings) {
  const Arithmetic &math = piece.math;
  const auto &[milestones, values] = settings;
  Value result = piece.number(values.empty() ? 1 : values.back());
  for (size_t i = std::min(milestones.size(), values.size()); i-- > 0;)
    result = math.select(math.less(piece.step, piece.number(milestones[i])),
                         piece.number(values[i]), result);
  return result;
}

PieceKind piecewise() {
  return kind("piecewise",
              timed() +
                  Fields{milestones().into(&Piecewise::milestones),
                         numbers("values", "[1.0]", "the factors between them")
                             .into(&Piecewise::values)},
              between);
}

struct List {
  std::vector<double> values;
};

/// values[k], the last one from there on: a sum in which one term counts.
Value oneOf(const SchedulePiece &piece, const List &settings) {
  const Arithmetic &math = piece.math;
  const std::vector<double> &values = settings.values;
  if (values.empty())
    return piece.number(1);
  int64_t count = values.size();
  OpBuilder &builder = math.builder;
  auto type = RankedTensorType::get({count}, builder.getF64Type());
  Value table = arith::ConstantOp::create(
      builder, math.loc, DenseElementsAttr::get(type, ArrayRef(values)));
  Value last = math.smaller(math.floor(piece.step), piece.number(count - 1));
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

PieceKind listed() {
  return kind("list",
              timed() + Fields{numbers("values", "[1.0]", "a factor a step")
                                   .into(&List::values)},
              oneOf);
}

struct Product {
  std::vector<recipe::Value> factors;
};

Value multiplied(const SchedulePiece &piece, const Product &settings);

/// The kinds that may be factors of a product.
std::vector<PieceKind> factors() {
  return {constant(),    linearWarmup(),   linear(),
          cosine(),      cosineRestarts(), stairs(),
          multiStep(),   exponential(),    naturalExponential(),
          inverseTime(), polynomial(),     oneCycle(),
          cyclic(),      piecewise(),      listed()};
}

std::vector<recipe::Choice> choicesOf(const std::vector<PieceKind> &kinds) {
  std::vector<recipe::Choice> choices;
  for (const PieceKind &kind : kinds)
    choices.emplace_back(kind.name, kind.keys);
  return choices;
}

PieceKind product() {
  Field factor =
      Field{"", variant, R"({"type": "constant"})", "one of the factors"}
          .among(choicesOf(factors()))
          .definedAs("factor");
  return kind("product",
              timed() + Fields{Field{"factors", list, "[]",
                                     "pieces that run side by side"}
                                   .of(Fields{factor})
                                   .into(&Product::factors)},
              multiplied);
}

const std::vector<PieceKind> &kinds() {
  static const std::vector<PieceKind> all = [] {
    std::vector<PieceKind> made = factors();
    made.push_back(product());
    return made;
  }();
  return all;
}

/// The milestones and values of a piecewise piece must fit together.
FoundMistake milestonesMistake(const recipe::Value &piece) {
  auto [milestones, values] = piece.as<Piecewise>();
  std::string key = piece.where() + ".milestones";
  if (milestones.size() > values.size() ||
      milestones.size() + 1 < values.size())
    return PieceMistake{key, "has " + std::to_string(milestones.size()) +
                                 " numbers for the " +
                                 std::to_string(values.size()) +
                                 " of values, expected as many or one less"};
  if (!llvm::is_sorted(milestones))
    return PieceMistake{key, "is not in ascending order"};
  return std::nullopt;
}

/// An update counts where it ends once.
FoundMistake endsMistake(const recipe::Value &piece, bool isOfProduct = false) {
  bool isAtEnd = piece.as<PieceTiming>().countsFromEnd || isOfProduct;
  if (!isAtEnd || !pieceKindOf(piece).countsFromEnd)
    return std::nullopt;
  return PieceMistake{
      piece.where(), "is a " + std::string(pieceKindOf(piece).name) +
                         ", which counts updates where they end, and so does " +
                         (isOfProduct ? "at_end of its product" : "at_end")};
}

FoundMistake factorsMistake(const recipe::Value &piece) {
  auto timing = piece.as<PieceTiming>();
  bool countsUpdates = timing.countsUpdates();
  for (const recipe::Value &factor : piece.as<Product>().factors) {
    if (auto found = pieceMistake(factor))
      return found;
    if (auto found = endsMistake(factor, timing.countsFromEnd))
      return found;
    if (timing.countsFromEnd && factor.as<PieceTiming>().countsFromEnd)
      return PieceMistake{factor.where() + ".at_end",
                          "is true of its product, too: k would be 2 at the "
                          "first update"};
    if (auto found = factorLengthMistake(factor, countsUpdates))
      return found;
  }
  return std::nullopt;
}

/// Multiplies pieces that run side by side.
Value multiplied(const SchedulePiece &piece, const Product &settings) {
  Value result = piece.number(1);
  for (const recipe::Value &factor : settings.factors) {
    PieceLength length =
        pieceLengths(piece.math, piece.run, factor, piece.step).front();
    bool isSingle = factor.as<PieceTiming>().isSingle;
    result = piece.math.multiply(
        result,
        pieceKindOf(factor).factor(
            {piece.math, piece.run, length.since(piece.math, piece.step),
             length.steps, length.tick(piece.math), isSingle},
            factor));
  }
  return result;
}

} // namespace

const PieceKind &gradus::pieceKindOf(const recipe::Value &piece) {
  return kinds()[piece.choice()]; // Factors of products are in the same order.
}

std::vector<recipe::Choice> gradus::pieceChoices() {
  return choicesOf(kinds());
}

FoundMistake gradus::pieceMistake(const recipe::Value &piece) {
  if (pieceKindOf(piece).name == "list" && piece.as<List>().values.empty())
    return PieceMistake{piece.where() + ".values",
                        "is empty, expected a factor a step"};
  if (auto found = endsMistake(piece))
    return found;
  if (auto found = milestonesMistake(piece))
    return found;
  return factorsMistake(piece);
}

bool gradus::isOfRun(const recipe::Value &piece) {
  return piece.as<PieceTiming>().isOfRun() ||
         llvm::any_of(piece.as<Product>().factors, isOfRun);
}

bool gradus::needsLength(const recipe::Value &piece) {
  auto instead = pieceKindOf(piece).insteadOfSteps;
  return instead && piece.at(*instead).isNull();
}
