// Finds redundant batch normalizations; see normalized_blocks.h. The patterns
// are those of MindSpore's LessBN (table in docs/methods/less_bn.md), for
// operands in any order.

#include "passes/model/normalized_blocks.h"

#include "ir/build.h"
#include "ir/scalar_ops.h"

using namespace mlir;
using namespace gradus;

namespace {

//===-- values ------------------------------------------------------------===//

/// The value before casts, dropout and concatenations of one operand.
Value plain(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool passes = changesWidth(op) || isa<DropoutOp>(op) ||
                  (isa<ConcatenateOp>(op) && op->getNumOperands() == 1);
    if (!passes)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The op that defines `value`, if it has this type.
template <typename Op> Op at(Value value) {
  return plain(value).getDefiningOp<Op>();
}

//===-- units -------------------------------------------------------------===//

/// A convolution and the batch normalization after it.
struct Unit {
  BatchNormOp norm;
  ConvolutionOp convolution;

  explicit operator bool() const { return norm && convolution; }
  Value input() { return plain(convolution.getInput()); }
};

/// Matches the ops that define values of one graph.
class Reader {
public:
  explicit Reader(GraphOp graph);

protected:
  /// Whether a value depends only on parameters and constants, like a bias.
  bool isOfParameters(Value value) const {
    return ofParameters_.contains(value.getDefiningOp());
  }
  ConvolutionOp convolutionAt(Value value) const;
  arith::AddFOp joinAt(Value value) const;
  Unit unitAt(Value value) const;
  bool isLinear(Value value) const;
  SmallVector<Unit> branch(Value end, Value source) const;
  Unit preActivated(Value value) const;

private:
  DenseSet<Operation *> ofParameters_;
};

Reader::Reader(GraphOp graph) {
  for (Operation &op : graph.getBody().front())
    if (isa<ReadOp>(op) || op.hasTrait<OpTrait::ConstantLike>() ||
        (op.getNumOperands() > 0 &&
         llvm::all_of(op.getOperands(),
                      [&](Value operand) { return isOfParameters(operand); })))
      ofParameters_.insert(&op);
}

/// The convolution that computes a value, before its bias.
ConvolutionOp Reader::convolutionAt(Value value) const {
  if (auto sum = at<arith::AddFOp>(value))
    for (auto [image, bias] : {std::pair(sum.getLhs(), sum.getRhs()),
                               std::pair(sum.getRhs(), sum.getLhs())})
      if (isOfParameters(bias))
        return at<ConvolutionOp>(image);
  return at<ConvolutionOp>(value);
}

bool isDepthwise(ConvolutionOp op) {
  return op.getGroups() > 1 &&
         int64_t(op.getGroups()) == tensorType(op.getInput()).getDimSize(1);
}

/// The sum of two images.
arith::AddFOp Reader::joinAt(Value value) const {
  auto sum = at<arith::AddFOp>(value);
  bool joins = sum && tensorType(sum.getResult()).getRank() >= 3 &&
               !isOfParameters(sum.getLhs()) && !isOfParameters(sum.getRhs());
  return joins ? sum : arith::AddFOp();
}

ConcatenateOp channelsAt(Value value) {
  auto op = at<ConcatenateOp>(value);
  return op && op->getNumOperands() > 1 && op.getAxis() == 1 ? op
                                                             : ConcatenateOp();
}

Operation *poolAt(Value value) {
  Operation *op = plain(value).getDefiningOp();
  return isa_and_present<MaxPoolOp, AveragePoolOp>(op) ? op : nullptr;
}

/// The value x in x * sigmoid(x).
Value gatedInput(arith::MulFOp product) {
  for (auto [x, gate] : {std::pair(product.getLhs(), product.getRhs()),
                         std::pair(product.getRhs(), product.getLhs())})
    if (auto sigmoid = gate.getDefiningOp<SigmoidOp>();
        sigmoid && sigmoid.getInput() == x)
      return x;
  return {};
}

/// The input of an activation; null for other values.
Value activated(Value value) {
  Operation *op = plain(value).getDefiningOp();
  if (!op)
    return {};
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return gatedInput(product);
  bool isElementwise =
      isa<Elementwise>(op) || op->hasTrait<OpTrait::Elementwise>();
  return isElementwise && op->getNumOperands() == 1 ? op->getOperand(0)
                                                    : Value();
}

bool isRelu6(Value value) {
  auto clip = at<ClipOp>(value);
  return clip && clip.getLow().isZero() &&
         clip.getHigh().convertToDouble() == 6;
}

Unit Reader::unitAt(Value value) const {
  auto norm = at<BatchNormOp>(value);
  return {norm, norm ? convolutionAt(norm.getInput()) : ConvolutionOp()};
}

/// Whether no activation was applied to the value since the last sum or
/// normalization.
bool Reader::isLinear(Value value) const {
  return joinAt(value) || at<BatchNormOp>(value);
}

/// The units between `source` and the sum at `end`, the last one first; empty
/// if there is no such path.
SmallVector<Unit> Reader::branch(Value end, Value source) const {
  SmallVector<Unit> units;
  for (Value value = end; Unit unit = unitAt(value);) {
    units.push_back(unit);
    if (unit.input() == source)
      return units;
    value = activated(unit.input());
    if (!value)
      break;
  }
  return {};
}

/// The value before pooling, which may precede a projection.
Value beforePools(Value value) {
  value = plain(value);
  while (Operation *pool = poolAt(value))
    value = plain(pool->getOperand(0));
  return value;
}

//===-- verdicts ----------------------------------------------------------===//

class Judge : Reader {
public:
  explicit Judge(GraphOp graph) : Reader(graph), graph_(graph) {}

  llvm::MapVector<Operation *, NormVerdict> run();

private:
  void visitJoin(arith::AddFOp join);
  bool visitBranches(Value main, Value shortcut);
  void visitBranch(MutableArrayRef<Unit> units, Unit projection);
  void visitDepthwise(ConvolutionOp convolution);
  void visitHead(MatmulOp matmul);
  void visitLayer(ConcatenateOp layers, Value added);
  void visitTransition(Operation *pool);
  void visit(Operation &op);

  BatchNormOp normBehind(ConvolutionOp convolution);

  /// Marks one as redundant because `other` stays; `other` may be null.
  void takeOut(BatchNormOp norm, BatchNormOp other, StringRef reason);
  void keep(BatchNormOp norm, StringRef reason);

  GraphOp graph_;
  llvm::MapVector<Operation *, NormVerdict> verdicts_;
  DenseSet<Operation *> reliedOn_; // by verdicts on others, so they must stay
};

llvm::MapVector<Operation *, NormVerdict> Judge::run() {
  for (auto norm : graph_.getBody().front().getOps<BatchNormOp>())
    verdicts_[norm] = {false, "no block that the patterns know has it"};
  for (Operation &op : graph_.getBody().front())
    visit(op);
  return std::move(verdicts_);
}

void Judge::visit(Operation &op) {
  if (auto sum = dyn_cast<arith::AddFOp>(op); sum && joinAt(sum))
    visitJoin(sum);
  else if (auto convolution = dyn_cast<ConvolutionOp>(op);
           convolution && isDepthwise(convolution))
    visitDepthwise(convolution);
  else if (auto matmul = dyn_cast<MatmulOp>(op))
    visitHead(matmul);
  else if (auto layers = dyn_cast<ConcatenateOp>(op))
    for (Value added : layers.getOperands())
      visitLayer(layers, added);
  else if (isa<MaxPoolOp, AveragePoolOp>(op))
    visitTransition(&op);
}

/// Whether the result has one user, or only x and sigmoid(x) of x * sigmoid(x).
bool servesOneOp(BatchNormOp norm) {
  return norm.getResult().hasOneUse() ||
         (norm.getResult().hasNUses(2) &&
          llvm::any_of(norm.getResult().getUsers(), [&](Operation *user) {
            auto product = dyn_cast<arith::MulFOp>(user);
            return product && gatedInput(product) == norm.getResult();
          }));
}

void Judge::takeOut(BatchNormOp norm, BatchNormOp other, StringRef reason) {
  auto convolution = convolutionAt(norm.getInput());
  if (convolution && isa<BlockArgument>(plain(convolution.getInput())))
    keep(norm, "it is the first of the model's input");
  else if (!servesOneOp(norm))
    keep(norm, "its result is used elsewhere, too");
  else if (reliedOn_.contains(norm))
    keep(norm, "another one went since this one is there");
  else if (other && verdicts_[other].redundant)
    keep(norm, "the other one of its block went");
  else {
    verdicts_[norm] = {true, reason.str()};
    if (other)
      reliedOn_.insert(other);
  }
}

void Judge::keep(BatchNormOp norm, StringRef reason) {
  if (!verdicts_[norm].redundant)
    verdicts_[norm].reason = reason.str();
}

//===-- residual blocks ---------------------------------------------------===//

void Judge::visitJoin(arith::AddFOp join) {
  Value one = plain(join.getLhs()), other = plain(join.getRhs());
  if (!visitBranches(one, other))
    visitBranches(other, one);
}

/// The values that a projection may start from: its input, and that before
/// pooling.
SmallVector<Value> sources(Unit projection) {
  return {projection.input(), beforePools(projection.input())};
}

/// Whether both operands derive from one value: one by the units of the main
/// branch, the other directly or by a projection.
bool Judge::visitBranches(Value main, Value shortcut) {
  SmallVector<Unit> units = branch(main, shortcut);
  Unit projection = units.empty() ? unitAt(shortcut) : Unit();
  if (projection)
    for (Value source : sources(projection))
      if (units.empty())
        units = branch(main, source);
  if (units.size() < 2)
    return false;
  visitBranch(units, projection);
  return true;
}

void Judge::visitBranch(MutableArrayRef<Unit> units, Unit projection) {
  if (llvm::any_of(units, [](Unit unit) {
        return isDepthwise(unit.convolution);
      })) { // See visitDepthwise().
    for (Unit unit : units)
      keep(unit.norm, "it is behind the depthwise convolution or the "
                      "projection of its block");
    return;
  }
  keep(units.front().norm, "it is the last one before the join");
  for (Unit unit : units.drop_front())
    takeOut(unit.norm, units.front().norm,
            "a later one of its residual branch stays");
  if (projection)
    takeOut(projection.norm, units.front().norm,
            "the other branch of its join has one");
}

//===-- depthwise blocks --------------------------------------------------===//

/// The expansion of a block that starts without an activation.
void Judge::visitDepthwise(ConvolutionOp convolution) {
  Value before = activated(convolution.getInput());
  Unit expansion = before ? unitAt(before) : Unit();
  if (!expansion || isDepthwise(expansion.convolution) ||
      !isLinear(expansion.input()))
    return;
  BatchNormOp norm = normBehind(convolution);
  if (!norm)
    return;
  keep(norm, "it is behind the depthwise convolution of its block");
  takeOut(expansion.norm, norm,
          "the depthwise convolution of its block has one");
}

/// The normalization of the convolution, or of its sum with a bias.
BatchNormOp Judge::normBehind(ConvolutionOp convolution) {
  SmallVector<Operation *> users(convolution->getUsers());
  for (Operation *user : convolution->getUsers())
    llvm::append_range(users, user->getUsers());
  for (Operation *user : users)
    if (auto norm = dyn_cast<BatchNormOp>(user);
        norm && convolutionAt(norm.getInput()) == convolution)
      return norm;
  return {};
}

/// The image before the mean of each channel in a head.
Value beforeMean(Value value) {
  for (Operation *op = plain(value).getDefiningOp(); op;
       op = plain(value).getDefiningOp()) {
    auto average = dyn_cast<ReduceOp>(op);
    if (average && average.getKind() == Reduction::mean &&
        tensorType(average.getInput()).getRank() >= 3)
      return plain(average.getInput());
    if (!isa<ReshapeOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// The last convolution before a dense layer on means, if its image has no
/// other use: in squeeze-and-excitation the means are applied to the image.
void Judge::visitHead(MatmulOp matmul) {
  Value image = beforeMean(matmul.getA());
  Value before = image ? activated(image) : Value();
  Unit last = before ? unitAt(before) : Unit();
  if (last && image.hasOneUse() && (isRelu6(image) || isLinear(last.input())))
    takeOut(last.norm, {}, "the head takes means");
}

//===-- dense blocks ------------------------------------------------------===//

/// A layer of a dense block: convolution(activation(norm(input))).
Unit Reader::preActivated(Value value) const {
  ConvolutionOp convolution = convolutionAt(value);
  Value before = convolution ? activated(convolution.getInput()) : Value();
  return {before ? at<BatchNormOp>(before) : BatchNormOp(), convolution};
}

void Judge::visitLayer(ConcatenateOp layers, Value added) {
  if (layers.getAxis() != 1)
    return;
  Unit second = preActivated(added);
  Unit first = second ? preActivated(second.norm.getInput()) : Unit();
  if (!first)
    return;
  if (channelsAt(first.norm.getInput())) {
    keep(second.norm, "it is the second one of its dense layer");
    takeOut(first.norm, second.norm, "the second one of its dense layer stays");
  } else if (poolAt(first.norm.getInput())) {
    keep(first.norm, "it is the first one behind the pool");
    takeOut(second.norm, first.norm,
            "the first one of its dense layer, behind the pool, stays");
  }
}

void Judge::visitTransition(Operation *pool) {
  Unit transition = preActivated(pool->getOperand(0));
  if (transition && channelsAt(transition.norm.getInput()))
    takeOut(transition.norm, {}, "it is that of a transition");
}

} // namespace

llvm::MapVector<Operation *, NormVerdict> gradus::judgeNorms(GraphOp graph) {
  return Judge(graph).run();
}
