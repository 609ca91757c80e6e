// Recognizes attention in the matmuls and the softmax that exporters write.
//
// Runs on the model, before autodiff: the gradient of the single op needs no
// stored probabilities of the forward pass.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"
#include "ir/rounded.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/passes.h"
#include "passes/recognition/factors.h"

#include "llvm/ADT/SetVector.h"

namespace gradus {
#define GEN_PASS_DEF_RECOGNIZEATTENTION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Numbers below any score: a mask that is added hides keys at the first or
/// below, and a score that is replaced at the second or below.
constexpr double kHides = -1e30, kStandsForNone = -1e9;

//===-- masks that are known ----------------------------------------------===//

/// Whether element e of a known mask keeps a key or hides it; nothing for other
/// numbers.
std::optional<bool> leaves(const HostTensor &mask, int64_t element) {
  if (!mask.isFloat)
    return mask.integers[element] != 0;
  double number = mask.floats[element];
  if (number == 0)
    return true;
  return number <= kHides ? std::optional(false) : std::nullopt;
}

/// Whether an op computes a part of a mask from its operands alone, and how is
/// known.
bool isOfMasks(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<DenseElementsAttr>(constant.getValue());
  return isa<Evaluable>(op) &&
         (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
          op->hasTrait<MovesElements>() || isa<IotaOp>(op));
}

/// Collects the ops that compute a mask, operands first, and takes their
/// elements off the budget. Returns false if the mask depends on more than
/// constants and positions, or exceeds the budget.
bool collect(Value mask, llvm::SetVector<Operation *> &ops, int64_t &budget,
             int depth = 0) {
  constexpr size_t mostOps = 40;
  Operation *op = mask.getDefiningOp();
  if (!op || !isOfMasks(op) || size_t(depth) == mostOps)
    return false;
  if (ops.contains(op))
    return true;
  auto type = dyn_cast<RankedTensorType>(mask.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() > budget)
    return false;
  budget -= type.getNumElements();
  for (Value operand : op->getOperands())
    if (!collect(operand, ops, budget, depth + 1))
      return false;
  ops.insert(op);
  return ops.size() <= mostOps;
}

/// Rounds floats, which the evaluator computes in f64, to the element type of
/// the value that they belong to.
void roundTo(Value value, HostTensor &elements) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value));
  if (!type || !elements.isFloat || type.isF64())
    return;
  for (double &number : elements.floats)
    number = rounded(number, type);
}

/// The elements of a mask that depends on no input or state. The elements of
/// all ops that are evaluated are taken off the budget.
std::optional<HostTensor> elementsOf(Value mask, int64_t &budget) {
  llvm::SetVector<Operation *> ops;
  int64_t left = budget;
  if (!collect(mask, ops, left))
    return std::nullopt;
  budget = left;
  DenseMap<Value, int64_t> uses;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      ++uses[operand];
  DenseMap<Value, HostTensor> values;
  for (Operation *op : ops) {
    SmallVector<HostTensor> operands;
    for (Value operand : op->getOperands()) {
      HostTensor &known = values.find(operand)->second;
      // The last use takes the elements along, which frees them.
      if (--uses[operand] == 0)
        operands.push_back(std::move(known));
      else
        operands.push_back(known);
    }
    auto results = evaluateOp(op, operands);
    if (failed(results))
      return std::nullopt;
    roundTo(op->getResult(0), results->front());
    values[op->getResult(0)] = std::move(results->front());
  }
  return std::move(values.find(mask)->second);
}

/// Whether a known mask hides exactly the keys after each query. `hides`: it is
/// true at hidden keys.
bool isCausal(const HostTensor &mask, bool hides) {
  int64_t queries = mask.shape[2], keys = mask.shape[3];
  if (queries < 2 || keys < 2)
    return false;
  for (int64_t e = 0; e < mask.size(); ++e)
    if (leaves(mask, e) != ((e % keys <= e / keys % queries) != hides))
      return false;
  return true;
}

/// Tells which masks are causal. The layers of a model compute the same one,
/// which is evaluated once.
class CausalMasks {
public:
  bool contain(Value mask, bool hides) {
    for (const Known &known : known_)
      if (known.hides == hides && isSame(mask, known.mask))
        return known.isCausal;
    std::optional<HostTensor> elements = elementsOf(mask, budget_);
    if (!elements)
      return false;
    known_.push_back({mask, hides, isCausal(*elements, hides)});
    return known_.back().isCausal;
  }

private:
  struct Known {
    Value mask;
    bool hides, isCausal;
  };

  /// Whether a value is computed as a known one is.
  bool isSame(Value value, Value known) {
    if (value == known || same_.contains({value, known}))
      return true;
    Operation *op = value.getDefiningOp();
    auto check = [&](Value a, Value b) { return success(isSame(a, b)); };
    if (!op || !OperationEquivalence::isEquivalentTo(
                   op, known.getDefiningOp(), check, /*markEquivalent=*/nullptr,
                   OperationEquivalence::IgnoreLocations))
      return false;
    same_.insert({value, known});
    return true;
  }

  /// The elements that may still be evaluated, summed over all ops: eight ops
  /// of 2048 x 2048 elements at first.
  int64_t budget_ = int64_t(1) << 25;
  SmallVector<Known> known_;
  DenseSet<std::pair<Value, Value>> same_;
};

/// Whether a boolean mask is known to leave each query at least one key.
bool leavesAll(Value mask, bool hides) {
  auto repeated = mask.getDefiningOp<BroadcastOp>();
  int64_t last = tensorType(mask).getRank() - 1;
  if (repeated && (repeated.getDimensions().empty() ||
                   repeated.getDimensions().back() != last))
    return false;
  DenseElementsAttr elements;
  if (!matchPattern(repeated ? repeated.getInput() : mask,
                    m_Constant(&elements)))
    return false;
  int64_t keys = elements.getType().getShape().back(), seen = 0;
  for (auto [e, value] : llvm::enumerate(elements.getValues<bool>())) {
    seen += value != hides;
    if (int64_t(e) % keys != keys - 1)
      continue;
    if (seen == 0)
      return false;
    seen = 0;
  }
  return true;
}

//===-- the pattern -------------------------------------------------------===//

/// Matches the ops before the matmul of probabilities and values, backwards
/// step by step.
class Pattern {
public:
  explicit Pattern(MatmulOp last) : last_(last) {}

  bool matches() {
    int64_t rank = last_.getType().getRank();
    Value scores = rank < 2 || rank > 4 || last_.getTransposeA()
                       ? Value()
                       : scoresOf(withoutDropout(last_.getA()));
    if (!scores)
      return false;
    takeMask(scores);
    scores = withoutFactors(scores, scale_);
    first_ = scores.getDefiningOp<MatmulOp>();
    return first_ && scores.hasOneUse() && !first_.getTransposeA() &&
           isFloatOrTruth();
  }

  void replace(CausalMasks &masks);

private:
  /// Strips dropout off the probabilities.
  Value withoutDropout(Value probabilities) {
    auto dropout = probabilities.getDefiningOp<DropoutOp>();
    if (!dropout || !probabilities.hasOneUse())
      return probabilities;
    dropout_ = dropout.getRatioAttr();
    return dropout.getInput();
  }

  /// The input of the softmax that computes the probabilities; null if these
  /// have other users.
  static Value scoresOf(Value probabilities) {
    if (!probabilities.hasOneUse())
      return {};
    int64_t uses = 1;
    if (Value guarded = withoutGuard(probabilities)) {
      probabilities = guarded;
      uses = 2;
    }
    auto softmax = probabilities.getDefiningOp<SoftmaxOp>();
    bool isLast = softmax && int64_t(softmax.getAxis()) ==
                                 tensorType(softmax).getRank() - 1;
    if (!isLast || softmax.getLog() || !softmax.getInput().hasOneUse() ||
        std::distance(probabilities.use_begin(), probabilities.use_end()) !=
            uses)
      return {};
    return softmax.getInput();
  }

  /// The value x in `select(isnan x, 0, x)`.
  static Value withoutGuard(Value value) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    auto test = select ? select.getCondition().getDefiningOp<math::IsNaNOp>()
                       : math::IsNaNOp();
    if (!test || !test->hasOneUse() ||
        test.getOperand() != select.getFalseValue() ||
        numberOf(select.getTrueValue()) != 0)
      return {};
    return select.getFalseValue();
  }

  /// Strips a mask off the scores: an addition, or a selection between a score
  /// and a very low number.
  void takeMask(Value &scores) {
    if (auto add = scores.getDefiningOp<arith::AddFOp>()) {
      bool isLeft = isMatmul(add.getLhs());
      mask_ = isLeft ? add.getRhs() : add.getLhs();
      scores = isLeft ? add.getLhs() : add.getRhs();
    } else if (auto select = scores.getDefiningOp<arith::SelectOp>()) {
      hides_ = numberOf(select.getTrueValue()).has_value();
      auto fill =
          numberOf(hides_ ? select.getTrueValue() : select.getFalseValue());
      bool isNone = fill == -std::numeric_limits<double>::infinity();
      // A query whose scores are all the same number gets the mean of all
      // values.
      bool isAsGood = fill && *fill <= kStandsForNone &&
                      leavesAll(select.getCondition(), hides_);
      if (!isNone && !isAsGood)
        return;
      mask_ = select.getCondition();
      scores = hides_ ? select.getFalseValue() : select.getTrueValue();
    }
  }

  static bool isMatmul(Value value) {
    double scale = 1;
    return value.hasOneUse() &&
           withoutFactors(value, scale).getDefiningOp<MatmulOp>();
  }

  bool isFloatOrTruth() {
    if (!mask_)
      return true;
    Type element = tensorType(mask_).getElementType();
    return isa<FloatType>(element) || element.isInteger(1);
  }

  /// A shape with dimensions for the batch and heads, of extent 1 if missing.
  static SmallVector<int64_t> withHeads(ArrayRef<int64_t> shape) {
    SmallVector<int64_t> full(shape);
    while (full.size() < 4)
      full.insert(full.end() - 2, 1);
    return full;
  }
  static Value withHeads(OpBuilder &builder, Value value) {
    return reshape(builder, value.getLoc(), value,
                   withHeads(tensorType(value).getShape()));
  }

  Value keys(OpBuilder &builder);
  Value mask(OpBuilder &builder);

  MatmulOp last_, first_;
  Value mask_;
  bool hides_ = false; // whether the mask is true at hidden keys
  FloatAttr dropout_;
  double scale_ = 1;
};

SmallVector<int64_t> exchangeLast(int64_t rank) {
  SmallVector<int64_t> order = allAxes(rank);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

Value lastExchanged(OpBuilder &builder, Value value) {
  return transpose(builder, value.getLoc(), value,
                   exchangeLast(tensorType(value).getRank()));
}

/// The input of a transpose of the last two dimensions, looking through a
/// reshape of the other dimensions.
Value beforeTranspose(Value value) {
  auto view = value.getDefiningOp<ReshapeOp>();
  if (view && tensorType(view.getInput()).getRank() > 2 &&
      tensorType(view.getInput()).getShape().take_back(2) ==
          tensorType(value).getShape().take_back(2))
    value = view.getInput();
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose ||
      transpose.getPermutation() !=
          ArrayRef<int64_t>(exchangeLast(transpose.getType().getRank())))
    return {};
  return transpose.getInput();
}

/// The keys as [batch, heads, keys, width], from either form of the matmul.
Value Pattern::keys(OpBuilder &builder) {
  Value key = withoutFactors(first_.getB(), scale_);
  if (first_.getTransposeB())
    return withHeads(builder, key);
  SmallVector<int64_t> shape(tensorType(key).getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  if (Value before = beforeTranspose(key))
    return reshape(builder, key.getLoc(), before, withHeads(shape));
  return withHeads(builder, lastExchanged(builder, key));
}

/// The mask, before broadcasting if possible.
Value Pattern::mask(OpBuilder &builder) {
  SmallVector<int64_t> shape(tensorType(mask_).getShape());
  if (auto repeated = mask_.getDefiningOp<BroadcastOp>();
      repeated && llvm::is_sorted(repeated.getDimensions())) {
    mask_ = repeated.getInput();
    llvm::fill(shape, 1);
    for (auto [size, dimension] :
         llvm::zip(tensorType(mask_).getShape(), repeated.getDimensions()))
      shape[dimension] = size;
  }
  return reshape(builder, mask_.getLoc(), mask_, withHeads(shape));
}

void Pattern::replace(CausalMasks &masks) {
  OpBuilder builder(last_);
  Value query = withHeads(builder, withoutFactors(first_.getA(), scale_)),
        key = keys(builder),
        value = withHeads(builder, last_.getTransposeB()
                                       ? lastExchanged(builder, last_.getB())
                                       : last_.getB());
  Value mask = mask_ ? this->mask(builder) : Value();
  bool causal = mask && masks.contain(mask, hides_);
  if (hides_ && !causal)
    mask = arith::XOrIOp::create(builder, mask.getLoc(), mask,
                                 splatLike(builder, mask, 1));
  auto attention =
      AttentionOp::create(builder, last_.getLoc(), query, key, value,
                          causal ? Value() : mask, causal, scale_, dropout_);
  last_.getResult().replaceAllUsesWith(reshape(builder, last_.getLoc(),
                                               attention.getResult(),
                                               last_.getType().getShape()));
}

//===-- the pass ----------------------------------------------------------===//

struct RecognizeAttention : impl::RecognizeAttentionBase<RecognizeAttention> {
  using Base::Base;

  void runOnOperation() override {
    CausalMasks masks;
    getOperation().walk([&](MatmulOp matmul) {
      Pattern pattern(matmul);
      if (!pattern.matches())
        return;
      pattern.replace(masks);
      remark::passed(
          matmul.getLoc(),
          remark::RemarkOpts::name("Recognized").category(getArgument()))
          << "attention computed as one op";
    });
  }
};

} // namespace
} // namespace gradus
