// ONNX ops that draw random numbers: like dropout by seed, step and index, from
// their own streams. A Bernoulli mask of known probability is a dropout, which
// drops nothing outside training; all others draw in every graph.

#include "frontends/onnx/operators/random.h"

#include "frontends/onnx/file/model_file.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/extremes.h"
#include "frontends/onnx/pytorch/alpha_dropout.h"

#include "ir/dropout.h"
#include "recipe/run_settings.h"
#include "runtime/well_known.h"

#include "mlir/IR/IRMapping.h"

#include <numbers>

namespace gradus::onnx {

using namespace mlir;

/// The unit of random numbers, which f32 can represent: u is a multiple of
/// 2^-24.
constexpr double kUnit = 0x1p-24;

//===-- draws -------------------------------------------------------------===//

namespace {

/// The random draws of one node.
class Draws {
public:
  explicit Draws(const Building &b)
      : b_(b), graph_(b.builder.getInsertionBlock()
                          ->getParent()
                          ->getParentOfType<GraphOp>()) {}

  /// Declares the state that counts steps.
  absl::Status start() {
    ProgramOp program = graph_->getParentOfType<ProgramOp>();
    auto type = RankedTensorType::get({}, b_.builder.getI64Type());
    StateOp state = program.getState(kStep);
    if (state && (state.getRole() != Role::counter || state.getType() != type))
      return b_.node.error("draws by the state \"", kStep,
                           "\", which is a tensor of the model; rename that");
    if (!state) {
      OpBuilder states(graph_);
      StateOp::create(
          states, graph_.getLoc(), kStep, type, Role::counter,
          InitAttr::get(states.getContext(), Initializer::zeros, FloatAttr()),
          ElementsAttr(), ArrayAttr());
    }
    step_ = ReadOp::create(b_.builder, b_.loc, type, kStep);
    seed_ = runSettings(program).seed;
    return absl::OkStatus();
  }

  /// Uniform numbers in [0, 1).
  Value uniform(RankedTensorType type) {
    auto integers = type.clone(b_.builder.getI64Type());
    int64_t stream = kDropoutStreams + b_.importer.draws++;
    Value bits = RandomBitsOp::create(b_.builder, b_.loc, integers, step_,
                                      stream, seed_);
    Value eight = splat(b_.builder, b_.loc, integers, 8);
    Value upper = b_.make<arith::ShRUIOp>(bits, eight);
    Value number = b_.make<arith::SIToFPOp>(type, upper);
    return b_.multiply(number, b_.number(kUnit, number));
  }

  /// Normally distributed numbers (Box and Muller, 1958).
  Value normal(RankedTensorType type) {
    Value one = uniform(type), two = uniform(type);
    Value notZero = b_.add(one, b_.number(kUnit, one));
    Value square = b_.multiply(b_.number(-2, one), b_.logarithm(notZero));
    Value angle = b_.multiply(b_.number(2 * std::numbers::pi, two), two);
    return b_.multiply(b_.squareRoot(square), b_.cosine(angle));
  }

private:
  static constexpr const char *kStep = well_known::kStep;
  const Building &b_;
  GraphOp graph_;
  Value step_;
  int64_t seed_ = 0;
};

/// The first number of a float type from `low` on and the last below `high`.
std::pair<double, double> withinLimits(double low, double high, Type element) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  bool ignored = false;
  APFloat first(low), last(high);
  first.convert(semantics, APFloat::rmTowardPositive, &ignored);
  last.convert(semantics, APFloat::rmTowardNegative, &ignored);
  if (last.convertToDouble() == high)
    last.next(/*nextDown=*/true);
  return {first.convertToDouble(), last.convertToDouble()};
}

/// The value before it was clipped below 1 for a 16-bit type.
Value beforeRounding(Value value) {
  auto narrow = value.getDefiningOp<arith::TruncFOp>();
  auto cut = narrow ? narrow.getIn().getDefiningOp<ClipOp>() : nullptr;
  if (!cut || std::pair(cut.getLow().convertToDouble(),
                        cut.getHigh().convertToDouble()) !=
                  withinLimits(0, 1, tensorType(value).getElementType()))
    return value;
  return cut.getInput();
}

/// Whether a value is RandomUniform's result between 0 and 1.
bool isUniform(Value value) {
  value = beforeRounding(value);
  auto scaled = value.getDefiningOp<arith::MulFOp>();
  auto number =
      scaled ? scaled.getLhs().getDefiningOp<arith::SIToFPOp>() : nullptr;
  auto upper =
      number ? number.getIn().getDefiningOp<arith::ShRUIOp>() : nullptr;
  return upper && upper.getLhs().getDefiningOp<RandomBitsOp>() &&
         numberOf(scaled.getRhs()) == kUnit;
}

/// The probability p of a condition `u < p` if neither has other uses.
std::optional<double> chanceOf(Value condition) {
  auto less = condition.getDefiningOp<arith::CmpFOp>();
  if (!less || less.getPredicate() != arith::CmpFPredicate::OLT ||
      !condition.hasOneUse() || !less.getLhs().hasOneUse() ||
      !isUniform(less.getLhs()))
    return std::nullopt;
  std::optional<double> chance = numberOf(less.getRhs());
  return chance && *chance >= 0 && *chance <= 1 ? chance : std::nullopt;
}

/// A mask of ones with this probability, made as a dropout of ones: outside
/// training, where nothing drops, its elements are the probability itself.
/// `train-dropout` recognizes it by the comparison (`isCoin`).
Value coins(OpBuilder &builder, Location loc, RankedTensorType type,
            double chance) {
  Value one = splat(builder, loc, type, 1);
  Value stay =
      DropoutOp::create(builder, loc, one, builder.getF64FloatAttr(1 - chance));
  Value grown = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                      stay, one),
        expected = arith::MulFOp::create(builder, loc, stay,
                                         splat(builder, loc, type, chance));
  return arith::SelectOp::create(builder, loc, grown, one, expected);
}

//===-- alpha dropout -----------------------------------------------------===//

Value withoutBroadcast(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  return value;
}

/// The only consumer of a value, or of its broadcast, if it is an `Op`.
template <typename Op> Op onlyUser(Value value) {
  if (!value.hasOneUse())
    return {};
  Operation *user = *value.user_begin();
  if (auto broadcast = dyn_cast<BroadcastOp>(user))
    return onlyUser<Op>(broadcast.getResult());
  return dyn_cast<Op>(user);
}

/// The constant that an `Op` combines with `value`.
template <typename Op> std::optional<double> numberWith(Value value, Op op) {
  if (!op)
    return std::nullopt;
  for (int side : {0, 1})
    if (withoutBroadcast(op->getOperand(side)) == value)
      return numberOf(op->getOperand(1 - side));
  return std::nullopt;
}

struct AlphaDropout {
  Value input, shift; // shift: of the result's shape
  arith::AddFOp result;
};

/// Matches the alpha dropout that begins with `mask - 1`.
std::optional<AlphaDropout> alphaOf(Value coin, double chance,
                                    arith::AddFOp first) {
  if (numberWith(coin, first) != -1)
    return std::nullopt;
  auto scaled = onlyUser<arith::MulFOp>(first);
  std::optional<double> s = numberWith(first, scaled);
  auto shift = s ? onlyUser<arith::AddFOp>(scaled) : nullptr;
  std::optional<double> b = numberWith(scaled, shift);
  auto sum = b ? onlyUser<arith::AddFOp>(shift) : nullptr;
  if (!sum)
    return std::nullopt;
  Value wide = sum.getLhs(), other = sum.getRhs();
  if (withoutBroadcast(wide) != shift.getResult())
    std::swap(wide, other);
  auto product = other.getDefiningOp<arith::MulFOp>();
  for (int side : {0, 1}) {
    Value input = product ? product->getOperand(1 - side) : Value();
    auto factor = product ? withoutBroadcast(product->getOperand(side))
                                .getDefiningOp<arith::MulFOp>()
                          : nullptr;
    std::optional<double> a = numberWith(coin, factor);
    if (a && input.getType() == sum.getType() &&
        first.getType() == coin.getType() &&
        shift.getType() == coin.getType() && isAlphaDropout(chance, *a, *s, *b))
      return AlphaDropout{input, wide, sum};
  }
  return std::nullopt;
}

/// Selects the input where the dropout of ones is 1, which means that nothing
/// drops; in training it is 0 or more than 1.
void idle(const AlphaDropout &alpha, Value coin) {
  arith::AddFOp sum = alpha.result;
  auto select = coin.getDefiningOp<arith::SelectOp>();
  Value stay = select.getFalseValue().getDefiningOp<arith::MulFOp>().getLhs();
  OpBuilder builder(sum->getBlock(), std::next(sum->getIterator()));
  Location loc = sum.getLoc();
  if (auto broadcast = alpha.shift.getDefiningOp<BroadcastOp>()) {
    IRMapping map;
    map.map(broadcast.getInput(), stay);
    stay = builder.clone(*broadcast, map)->getResult(0);
  }
  Value isIdle =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, stay,
                            splat(builder, loc, tensorType(stay), 1));
  auto result = arith::SelectOp::create(builder, loc, isIdle, alpha.input, sum);
  sum.getResult().replaceAllUsesExcept(result, result);
}

/// Makes alpha dropouts return their input outside training. Returns false if
/// the mask is also added to a number, so that replacing it by its probability
/// is inaccurate.
bool idleAlpha(Value coin, double chance) {
  SmallVector<AlphaDropout> found;
  bool isPlain = true;
  for (Operation *user : coin.getUsers()) {
    auto add = dyn_cast<arith::AddFOp>(user);
    std::optional<AlphaDropout> alpha =
        add ? alphaOf(coin, chance, add) : std::nullopt;
    if (alpha)
      found.push_back(*alpha);
    else if (isa<arith::AddFOp, arith::SubFOp>(user) &&
             (numberOf(user->getOperand(0)) || numberOf(user->getOperand(1))))
      isPlain = false;
  }
  for (const AlphaDropout &each : found)
    idle(each, coin);
  return isPlain;
}

//===-- handlers ----------------------------------------------------------===//

/// The element type of a draw for errors: the node's, or the input's that we
/// use.
std::string drawnName(const Node &node, Type element) {
  if (node.hasAttribute("dtype"))
    return dataTypeName(node.integer("dtype", 0));
  std::string words;
  llvm::raw_string_ostream(words) << element;
  return words;
}

/// The type of a draw, from the attributes or from the input.
absl::StatusOr<RankedTensorType> drawnType(const Building &b, bool isLike) {
  Type element = b.builder.getF32Type();
  SmallVector<int64_t> shape = b.node.integers("shape");
  if (isLike) {
    GRADUS_ASSIGN_OR_RETURN(RankedTensorType like, b.importer.type(b.node, 0));
    element = like.getElementType();
    shape = SmallVector<int64_t>(like.getShape());
  }
  if (b.node.hasAttribute("dtype"))
    element = elementType(b.node.integer("dtype", 0), b.importer.context());
  if (!isa_and_nonnull<FloatType>(element))
    return b.node.error("draws elements of ", drawnName(b.node, element),
                        ", expected FLOAT, DOUBLE, FLOAT16 or BFLOAT16");
  if (!isWithin(shape, kMostElements))
    return b.node.error("its shape is [", joined(shape),
                        "], expected sizes of at least 0 and at most ",
                        kMostElements, " elements");
  return RankedTensorType::get(shape, element);
}

template <bool isLike>
absl::Status uniform(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, drawnType(b, isLike));
  Draws draws(b);
  GRADUS_RETURN_IF_ERROR(draws.start());
  Type element = type.getElementType();
  Value result = draws.uniform(type.clone(computeType(element)));
  double low = node.number("low", 0), high = node.number("high", 1);
  if (low != 0 || high != 1)
    result = b.add(b.multiply(result, b.number(high - low, result)),
                   b.number(low, result));
  // Rounding of the sum, or to a narrow type, may exceed the limits.
  auto [first, last] = withinLimits(low, high, element);
  bool isExact = low == 0 && high == 1 && element == computeType(element);
  if (!isExact && first <= last)
    result = b.make<ClipOp>(result.getType(), result,
                            b.builder.getF64FloatAttr(first),
                            b.builder.getF64FloatAttr(last));
  return importer.define(node, 0, castTo(b, result, element));
}

template <bool isLike>
absl::Status normal(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, drawnType(b, isLike));
  Draws draws(b);
  GRADUS_RETURN_IF_ERROR(draws.start());
  Value result = draws.normal(type.clone(computeType(type.getElementType())));
  double mean = node.number("mean", 0), scale = node.number("scale", 1);
  if (mean != 0 || scale != 1)
    result = b.add(b.multiply(result, b.number(scale, result)),
                   b.number(mean, result));
  return importer.define(node, 0, castTo(b, result, type.getElementType()));
}

/// 1 with the probability that the input has for each element, else 0.
absl::Status bernoulli(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value chances, importer.value(node, 0));
  RankedTensorType type = tensorType(chances);
  Type element = type.getElementType();
  if (!isa<FloatType>(element))
    return node.error("its input \"", node.input(0).str(),
                      "\" holds no floats");
  Type wanted = node.hasAttribute("dtype")
                    ? elementType(node.integer("dtype", 0), importer.context())
                    : element;
  if (!wanted)
    return node.error("its dtype is not supported");
  Draws draws(b);
  if (std::optional<double> chance = numberOf(chances);
      chance && isa<FloatType>(wanted)) {
    if (!(*chance >= 0 && *chance <= 1))
      return node.error("its chance is ", *chance, ", expected 0 to 1");
    return importer.define(
        node, 0, coins(b.builder, b.loc, type.clone(wanted), *chance));
  }
  GRADUS_RETURN_IF_ERROR(draws.start());
  Type wide = computeType(element);
  Value isOne =
      b.compare(arith::CmpFPredicate::OLT, draws.uniform(type.clone(wide)),
                castTo(b, chances, wide));
  return importer.define(node, 0, castTo(b, isOne, wanted));
}

//===-- class samples -----------------------------------------------------===//

/// Gumbel-distributed numbers: if each logit gets one added, the maximum is
/// distributed as the softmax.
Value gumbel(const Building &b, Draws &draws, RankedTensorType type) {
  auto minusLog = [&](Value x) { return b.negate(b.logarithm(x)); };
  Value u = draws.uniform(type);
  Value notZero = b.larger(u, b.number(kUnit, u));
  return minusLog(minusLog(notZero));
}

/// Subtracts the maximum of the logits, so that the noise is not rounded away.
Value withoutLargest(const Building &b, Value logits) {
  Value most = reduce(b.builder, b.loc, Reduction::max, logits, {1});
  return b.subtract(logits, broadcastAlong(b.builder, b.loc, most,
                                           tensorType(logits).getShape(),
                                           /*axes=*/{1}));
}

/// Samples `sample_size` classes for each row of unnormalized
/// log-probabilities.
absl::Status multinomial(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value logits, importer.value(node, 0, 2));
  if (!Building::isFloat(logits))
    return node.error("its input \"", node.input(0).str(),
                      "\" holds no floats");
  Type wanted = elementType(node.integer("dtype", ::onnx::TensorProto::INT32),
                            importer.context());
  if (!wanted || !(wanted.isInteger(32) || wanted.isInteger(64)))
    return node.error("gives elements of ",
                      dataTypeName(node.integer("dtype", 0)),
                      ", expected INT32 or INT64");
  ArrayRef<int64_t> shape = tensorType(logits).getShape();
  SmallVector<int64_t> all = {shape[0], node.integer("sample_size", 1),
                              shape[1]};
  if (all[1] < 1 || !isWithin(all, kMostElements))
    return node.error("asks for ", all[1], " samples of ", shape[0],
                      " rows of ", shape[1],
                      " classes, expected at least 1 sample and at most ",
                      kMostElements, " logits of all");
  Draws draws(b);
  GRADUS_RETURN_IF_ERROR(draws.start());
  logits = castTo(b, logits, computeType(tensorType(logits).getElementType()));
  Value each = broadcastAlong(b.builder, b.loc, withoutLargest(b, logits), all,
                              /*axes=*/{1});
  Value noisy = b.add(each, gumbel(b, draws, tensorType(each)));
  Value sampled = placeOfExtreme(b, Reduction::max, noisy, /*axis=*/2);
  return importer.define(node, 0, castTo(b, sampled, wanted));
}

//===-- export ------------------------------------------------------------===//

/// The dropout of ones that a condition compares with 1; null if it does not.
DropoutOp onesThatStay(Value condition, arith::CmpFPredicate predicate) {
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getPredicate() != predicate ||
      !isNumber(compare.getRhs(), 1))
    return {};
  auto dropout = withoutBroadcast(compare.getLhs()).getDefiningOp<DropoutOp>();
  return dropout && isNumber(dropout.getInput(), 1) ? dropout : nullptr;
}

DropoutOp maskOf(Operation *op) {
  auto select = cast<arith::SelectOp>(op);
  return isNumber(select.getTrueValue(), 1)
             ? onesThatStay(select.getCondition(), arith::CmpFPredicate::OGT)
             : nullptr;
}

/// Whether the op is the mask that coins() makes.
bool isMask(Operation *op) { return bool(maskOf(op)); }

absl::Status writeMask(const OpWriter &w, const char *node) {
  RankedTensorType type = w.type();
  int64_t element = dataType(type.getElementType());
  double chance = 1 - maskOf(w.op).getRatio().convertToDouble();
  std::string drawn = w.node(
      "RandomUniform", {},
      {attribute("shape", type.getShape()), attribute("dtype", element)});
  std::string less =
      w.node("Less", {drawn, w.graph.number(chance, type.getElementType())});
  return w.define(node, {less}, {attribute("to", element)});
}

/// Whether the op is the choice that idle() adds; training takes the second
/// value.
bool isIdleChoice(Operation *op) {
  return bool(onesThatStay(cast<arith::SelectOp>(op).getCondition(),
                           arith::CmpFPredicate::OEQ));
}

absl::Status writeIdleChoice(const OpWriter &w, const char *node) {
  return w.define(node, {w.input(2)});
}

bool isUniformNumber(Operation *op) { return isUniform(op->getResult(0)); }

absl::Status writeUniform(const OpWriter &w, const char *node) {
  return w.define(
      node, {},
      {attribute("shape", w.type().getShape()),
       attribute("dtype", int64_t(dataType(w.type().getElementType())))});
}

//===-- the table ---------------------------------------------------------===//

constexpr Ignored kIgnored[] = {{"seed", kWhySeed}};

/// The table entry of an op that draws; it is never folded.
constexpr Operator drawing(const char *name, int64_t since, Handler build) {
  return {name,
          {.since = since, .ignored = kIgnored},
          build,
          nullptr,
          /*foldsByEvaluation=*/false};
}

constexpr Operator kOperators[] = {
    drawing("RandomUniform", 6, uniform<false>),
    drawing("RandomUniformLike", 6, uniform<true>),
    drawing("RandomNormal", 6, normal<false>),
    drawing("RandomNormalLike", 6, normal<true>),
    drawing("Bernoulli", 15, bernoulli),
    drawing("Multinomial", 7, multinomial),
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"arith.select", "Cast", writeMask, isMask},
    {"arith.select", "Identity", writeIdleChoice, isIdleChoice},
    {"arith.mulf", "RandomUniform", writeUniform, isUniformNumber},
};

} // namespace

void takeCoins(GraphOp graph) {
  int added = 0;
  for (auto number :
       llvm::make_early_inc_range(graph.getOps<arith::UIToFPOp>())) {
    if (std::optional<double> chance = chanceOf(number.getIn())) {
      OpBuilder builder(number);
      auto type = tensorType(number);
      Value coin = coins(builder, number.getLoc(), type, *chance);
      number.replaceAllUsesWith(coin);
      number.erase();
      added += !idleAlpha(coin, *chance);
    }
  }
  if (added)
    emitWarning(graph.getLoc())
        << added
        << (added == 1 ? " coin of a known chance has a number"
                       : " coins of a known chance have numbers")
        << " added, as in a form of AlphaDropout; outside training the chance "
           "stands in its place, which need not be PyTorch's eval";
}

llvm::ArrayRef<Operator> randomOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> randomExports() { return kExports; }

} // namespace gradus::onnx
