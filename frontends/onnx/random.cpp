// ONNX ops that draw random numbers: as dropout, by seed, step and place, from
// streams of their own. A coin of a known chance is a dropout, which drops
// nothing outside training; everything else draws in all graphs.

#include "frontends/onnx/random.h"

#include "frontends/onnx/size_limits.h"

#include "mlir/IR/Matchers.h"

#include <numbers>

namespace gradus::onnx {

using namespace mlir;

/// A stream's first number; those of dropouts count from 0.
constexpr int64_t kFirstStream = int64_t(1) << 24;

/// Bits of a draw that f32 holds: u is a multiple of 2^-24.
constexpr double kUnit = 0x1p-24;

//===-- draws -------------------------------------------------------------===//

namespace {

/// Draws at one node.
class Draws {
public:
  explicit Draws(const Building &b)
      : b_(b), graph_(b.builder.getInsertionBlock()
                          ->getParent()
                          ->getParentOfType<GraphOp>()) {}

  /// Makes the state that counts steps known.
  absl::Status start() {
    ProgramOp program = graph_->getParentOfType<ProgramOp>();
    auto type = RankedTensorType::get({}, b_.builder.getI64Type());
    StateOp state = program.getState(kStep);
    if (state && (state.getRole() != Role::counter || state.getType() != type))
      return b_.node.error("draws by the state \"", kStep,
                           "\", which is a tensor of the model");
    if (!state) {
      OpBuilder states(graph_);
      StateOp::create(
          states, graph_.getLoc(), kStep, type, Role::counter,
          InitAttr::get(states.getContext(), Initializer::zeros, FloatAttr()),
          ElementsAttr());
    }
    step_ = ReadOp::create(b_.builder, b_.location, type, kStep);
    DictionaryAttr recipe = program.getRecipeAttr();
    if (auto seed = recipe ? recipe.getAs<IntegerAttr>("seed") : IntegerAttr())
      seed_ = seed.getInt();
    return absl::OkStatus();
  }

  /// Numbers of [0, 1).
  Value uniform(RankedTensorType type) {
    auto integers = type.clone(b_.builder.getI64Type());
    int64_t stream =
        kFirstStream + llvm::range_size(graph_.getOps<RandomBitsOp>());
    Value bits = RandomBitsOp::create(b_.builder, b_.location, integers, step_,
                                      stream, seed_);
    Value eight = splat(b_.builder, b_.location, integers, 8);
    Value upper = b_.make<arith::ShRUIOp>(bits, eight);
    Value number = b_.make<arith::SIToFPOp>(type, upper);
    return b_.mul(number, b_.number(kUnit, number));
  }

  /// Numbers of the standard normal distribution (Box and Muller, 1958).
  Value normal(RankedTensorType type) {
    Value one = uniform(type), two = uniform(type);
    Value notZero = b_.add(one, b_.number(kUnit, one));
    Value square = b_.mul(b_.number(-2, one), b_.make<math::LogOp>(notZero));
    Value angle = b_.mul(b_.number(2 * std::numbers::pi, two), two);
    return b_.mul(b_.make<math::SqrtOp>(square), b_.make<math::CosOp>(angle));
  }

private:
  static constexpr const char *kStep = "step";
  const Building &b_;
  GraphOp graph_;
  Value step_;
  int64_t seed_ = 0;
};

std::optional<double> numberOf(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
      isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  return std::nullopt;
}

/// Whether a value is what `Draws::uniform` makes.
bool isUniform(Value value) {
  auto scaled = value.getDefiningOp<arith::MulFOp>();
  auto number =
      scaled ? scaled.getLhs().getDefiningOp<arith::SIToFPOp>() : nullptr;
  auto upper =
      number ? number.getIn().getDefiningOp<arith::ShRUIOp>() : nullptr;
  return upper && upper.getLhs().getDefiningOp<RandomBitsOp>() &&
         numberOf(scaled.getRhs()) == kUnit;
}

/// The chance of a condition `u < p`, if nobody else sees it or u.
std::optional<double> chanceOf(Value condition) {
  auto less = condition.getDefiningOp<arith::CmpFOp>();
  if (!less || less.getPredicate() != arith::CmpFPredicate::OLT ||
      !condition.hasOneUse() || !less.getLhs().hasOneUse() ||
      !isUniform(less.getLhs()))
    return std::nullopt;
  std::optional<double> chance = numberOf(less.getRhs());
  return chance && *chance >= 0 && *chance <= 1 ? chance : std::nullopt;
}

/// 1 with this chance, else 0, as a dropout of ones: outside training, where
/// nothing drops, the chance itself.
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

//===-- handlers ----------------------------------------------------------===//

/// The type of what a node draws: of the attributes, or like its input.
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
    return b.node.error("draws elements that are no floats");
  if (!isWithin(shape, kMostElements))
    return b.node.error("its shape is [", joined(shape), "]");
  return RankedTensorType::get(shape, element);
}

template <bool isLike>
absl::Status uniform(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, drawnType(b, isLike));
  Draws draws(b);
  GRADUS_RETURN_IF_ERROR(draws.start());
  Value result = draws.uniform(type.clone(computeType(type.getElementType())));
  double low = node.number("low", 0), high = node.number("high", 1);
  if (low != 0 || high != 1)
    result = b.add(b.mul(result, b.number(high - low, result)),
                   b.number(low, result));
  return importer.define(node, 0, castTo(b, result, type.getElementType()));
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
    result =
        b.add(b.mul(result, b.number(scale, result)), b.number(mean, result));
  return importer.define(node, 0, castTo(b, result, type.getElementType()));
}

/// 1 with the chance that the input says of each element.
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
  if (std::optional<double> chance = numberOf(chances);
      chance && isa<FloatType>(wanted)) {
    if (!(*chance >= 0 && *chance <= 1))
      return node.error("its chance is ", *chance, ", expected 0 to 1");
    return importer.define(
        node, 0, coins(b.builder, b.location, type.clone(wanted), *chance));
  }
  Draws draws(b);
  GRADUS_RETURN_IF_ERROR(draws.start());
  Type wide = computeType(element);
  Value isOne = b.make<arith::CmpFOp>(arith::CmpFPredicate::OLT,
                                      draws.uniform(type.clone(wide)),
                                      castTo(b, chances, wide));
  return importer.define(node, 0, castTo(b, isOne, wanted));
}

const Operator kOperators[] = {
    {"RandomUniform",
     {6, "", "`seed` (the recipe's is taken)"},
     uniform<false>,
     nullptr,
     /*foldsByEvaluation=*/false},
    {"RandomUniformLike",
     {6, "", "`seed` (the recipe's is taken)"},
     uniform<true>,
     nullptr,
     /*foldsByEvaluation=*/false},
    {"RandomNormal",
     {6, "", "`seed` (the recipe's is taken)"},
     normal<false>,
     nullptr,
     /*foldsByEvaluation=*/false},
    {"RandomNormalLike",
     {6, "", "`seed` (the recipe's is taken)"},
     normal<true>,
     nullptr,
     /*foldsByEvaluation=*/false},
    {"Bernoulli",
     {15, "", "`seed` (the recipe's is taken)"},
     bernoulli,
     nullptr,
     /*foldsByEvaluation=*/false},
};

} // namespace

void takeCoins(GraphOp graph) {
  for (auto number :
       llvm::make_early_inc_range(graph.getOps<arith::UIToFPOp>())) {
    if (std::optional<double> chance = chanceOf(number.getIn())) {
      OpBuilder builder(number);
      auto type = tensorType(number);
      number.replaceAllUsesWith(coins(builder, number.getLoc(), type, *chance));
      number.erase();
    }
  }
}

llvm::ArrayRef<Operator> randomOperators() { return kOperators; }

} // namespace gradus::onnx
