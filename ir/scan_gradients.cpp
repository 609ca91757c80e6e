// The gradient of a scan: a scan in the other direction.
//
// The rules of the body's ops write the backward ops behind the forward ones,
// in a copy of the body. Then those move to a body of their own. What they read
// of the forward ones becomes one more stacked result of the forward scan,
// unless the slices and invariants of the step give it without much work.
//
// A matmul with an invariant as its right operand, and a broadcast of one, are
// the same on the rows of all steps: the gradients of their results are
// stacked, and what the invariant gets is computed once behind the scan. Other
// ops add to a carried sum.

#include "ir/add_up.h"
#include "ir/build.h"
#include "ir/scan_ops.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gradus;

namespace {

bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool isConstant(Operation *op) {
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// An op of the body of which an invariant gets its gradient of all steps at
/// once: its right or only operand is the invariant.
struct Batched {
  Operation *op;
  unsigned invariant;
  Value gradient; // of the result, in a step
};

/// The backward scan. Its arguments stand for what is given outside.
struct Backward {
  SmallVector<Value> carriedArguments, carriedStarts, carriedNext,
      sequenceArguments, sequenceValues, stacked;
  llvm::SetVector<Value> residuals;     // forward values that it reads
  llvm::SetVector<Value> invariants;    // arguments that it reads
  DenseMap<unsigned, unsigned> sums;    // invariants' places in `carried`
  SmallVector<int> sliceOf, gradientOf; // places among the stacked results
  ScanOp op;
};

class ScanGradient {
public:
  ScanGradient(ScanOp scan, OpBuilder &builder, ValueRange g)
      : scan_(scan), builder_(builder), loc_(scan.getLoc()), g_(g),
        copy_(scan.clone()), body_(copy_.getBodyBlock()),
        inner_(OpBuilder::atBlockTerminator(&body_)) {}

  SmallVector<Value> run() {
    seed();
    passBack();
    collect();
    stackForward();
    buildBackward();
    SmallVector<Value> gradients = gradientsOfOperands();
    copy_->erase();
    return gradients;
  }

private:
  unsigned carried() { return scan_.getCarried().size(); }
  unsigned sequences() { return scan_.getSequences().size(); }
  unsigned firstInvariant() { return carried() + sequences(); }
  /// The argument of the copied body, for an operand.
  BlockArgument argument(unsigned operand) {
    return body_.getArgument(operand);
  }
  Value added(Value value) {
    auto found = gradients_.find(value);
    return found == gradients_.end() ? Value()
                                     : addUp(inner_, loc_, found->second);
  }

  void seed();
  void passBack();
  bool takesAllSteps(Operation *op, unsigned operand);
  void passBack(Operation *op);
  void collect();
  bool isForward(Operation *op) { return forward_.contains(op); }
  void findAtHand();
  bool isAtHand(Operation *op) { return atHand_.contains(op); }
  void read(Value value);
  void copyIn(Value value);
  void stackForward();
  Value stackedOf(Value value);
  void buildBackward();
  Value ofAllSteps(const Batched &batched);
  SmallVector<Value> gradientsOfOperands();

  ScanOp scan_;
  OpBuilder &builder_;
  Location loc_;
  ValueRange g_;
  ScanOp copy_;
  Block &body_;
  OpBuilder inner_;
  llvm::SetVector<Operation *> forward_;
  DenseSet<Operation *> atHand_; // of the forward ones
  DenseMap<Value, SmallVector<Value, 1>> gradients_;
  SmallVector<Batched> batched_;

  Backward backward_;
};

//===-- backward ops ------------------------------------------------------===//

/// Adds arguments for the gradients of the yielded values.
void ScanGradient::seed() {
  for (Operation &op : body_.without_terminator())
    forward_.insert(&op);
  findAtHand();
  for (auto [number, value] : llvm::enumerate(copy_.getYielded())) {
    bool isCarried = number < carried();
    if (!isFloat(value) || (!isCarried && !g_[number]))
      continue;
    Value gradient = body_.addArgument(value.getType(), loc_);
    gradients_[value].push_back(gradient);
    if (isCarried) {
      backward_.carriedArguments.push_back(gradient);
      backward_.carriedStarts.push_back(
          g_[number] ? g_[number]
                     : splatLike(builder_, scan_.getResult(number), 0));
    } else {
      backward_.sequenceArguments.push_back(gradient);
      backward_.sequenceValues.push_back(g_[number]);
    }
  }
}

void ScanGradient::passBack() {
  for (Operation *op : llvm::reverse(forward_.getArrayRef()))
    if (llvm::any_of(op->getResults(),
                     [&](Value value) { return gradients_.contains(value); }))
      passBack(op);
}

/// Whether the gradient of an operand, an invariant, can be computed of all
/// steps.
bool ScanGradient::takesAllSteps(Operation *op, unsigned operand) {
  if (isa<BroadcastOp>(op))
    return true;
  auto matmul = dyn_cast<MatmulOp>(op);
  if (!matmul || operand != 1 || matmul.getTransposeA() ||
      matmul.getType().getRank() != 2)
    return false;
  auto rows = dyn_cast<BlockArgument>(matmul.getA());
  return !rows || rows.getArgNumber() < firstInvariant();
}

void ScanGradient::passBack(Operation *op) {
  auto differentiable = dyn_cast<Differentiable>(op);
  if (!differentiable)
    return; // it depends on no parameter, else autodiff reports it
  SmallVector<Value> ofResults;
  for (Value result : op->getResults())
    ofResults.push_back(added(result));
  SmallVector<Value> ofOperands = differentiable.pullback(inner_, ofResults);
  for (auto [number, gradient] : llvm::enumerate(ofOperands)) {
    Value operand = op->getOperand(number);
    if (!gradient || !isFloat(operand))
      continue;
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument && argument.getArgNumber() >= firstInvariant() &&
        takesAllSteps(op, number))
      batched_.push_back({op, argument.getArgNumber(), ofResults[0]});
    else
      gradients_[operand].push_back(gradient);
  }
}

/// Lists what the backward scan carries and yields, and what it reads.
void ScanGradient::collect() {
  for (unsigned i = 0; i < carried(); ++i)
    if (isFloat(argument(i))) {
      Value sum = added(argument(i));
      backward_.carriedNext.push_back(sum ? sum
                                          : splatLike(inner_, argument(i), 0));
    }
  backward_.sliceOf.assign(sequences(), -1);
  for (unsigned i = 0; i < sequences(); ++i)
    if (Value sum = added(argument(carried() + i))) {
      backward_.sliceOf[i] = backward_.stacked.size();
      backward_.stacked.push_back(sum);
    }
  for (unsigned i = firstInvariant(); i < scan_.getNumOperands(); ++i)
    if (Value sum = added(argument(i))) {
      Value before = body_.addArgument(sum.getType(), loc_);
      backward_.sums[i] = backward_.carriedNext.size();
      backward_.carriedArguments.push_back(before);
      backward_.carriedStarts.push_back(
          splatLike(builder_, scan_->getOperand(i), 0));
      backward_.carriedNext.push_back(
          arith::AddFOp::create(inner_, loc_, before, sum));
    }
  for (const Batched &each : batched_) {
    backward_.gradientOf.push_back(backward_.stacked.size());
    backward_.stacked.push_back(each.gradient);
    if (isa<MatmulOp>(each.op))
      read(each.op->getOperand(0));
  }
  for (Value value :
       llvm::concat<Value>(backward_.carriedNext, backward_.stacked))
    copyIn(value);
}

//===-- what they read ----------------------------------------------------===//

/// Finds the forward ops that follow from slices and invariants by moves and
/// arithmetic alone, so that the backward scan computes them again.
void ScanGradient::findAtHand() {
  auto isGiven = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? argument.getArgNumber() >= carried()
                    : isAtHand(value.getDefiningOp());
  };
  for (Operation *op : forward_)
    if (isConstant(op) || ((op->hasTrait<MovesElements>() ||
                            isa<arith::ArithDialect>(op->getDialect())) &&
                           llvm::all_of(op->getOperands(), isGiven)))
      atHand_.insert(op);
}

/// Records a forward value, which is no constant, as stacked or at hand.
void ScanGradient::read(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getArgNumber() >= firstInvariant())
    backward_.invariants.insert(value);
  else
    backward_.residuals.insert(value);
}

/// Moves the ops behind a backward value into reach: collects what they read of
/// the forward ones.
void ScanGradient::copyIn(Value start) {
  SmallVector<Value> work = {start};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getArgNumber() >= scan_.getNumOperands())
      continue; // one of the backward scan's own
    Operation *op = value.getDefiningOp();
    bool again = op && (!isForward(op) || isAtHand(op));
    if (again)
      llvm::append_range(work, op->getOperands());
    else
      read(value);
  }
}

//===-- the two scans -----------------------------------------------------===//

/// Gives the forward scan a result for each residual that it does not have.
void ScanGradient::stackForward() {
  IRMapping values; // of the copy's forward ops, to those of the new scan
  SmallVector<Value> extra;
  for (Value value : backward_.residuals) {
    auto argument = dyn_cast<BlockArgument>(value);
    bool isSlice = argument && argument.getArgNumber() >= carried();
    auto yielded = copy_.getYielded().drop_front(carried());
    if (!isSlice && !llvm::is_contained(yielded, value))
      extra.push_back(value);
  }
  if (extra.empty())
    return;
  SmallVector<Type> types(scan_.getResultTypes());
  for (Value value : extra) {
    RankedTensorType type = tensorType(value);
    SmallVector<int64_t> shape = {int64_t(scan_.getSteps())};
    llvm::append_range(shape, type.getShape());
    types.push_back(type.clone(shape));
  }
  OpBuilder before(scan_);
  auto richer = ScanOp::create(before, loc_, types, scan_.getSteps(),
                               scan_.getReverse(), scan_.getCarried(),
                               scan_.getSequences(), scan_.getInvariants());
  richer->setDiscardableAttrs(scan_->getDiscardableAttrDictionary());
  Block *block = before.createBlock(&richer.getBody());
  for (unsigned i = 0; i < scan_.getNumOperands(); ++i)
    values.map(argument(i), block->addArgument(argument(i).getType(), loc_));
  for (Operation *op : forward_)
    before.clone(*op, values);
  SmallVector<Value> yielded;
  for (Value value : copy_.getYielded())
    yielded.push_back(values.lookup(value));
  for (Value value : extra)
    yielded.push_back(values.lookup(value));
  YieldOp::create(before, loc_, yielded);
  SmallVector<Value> all(copy_.getYielded());
  llvm::append_range(all, extra);
  body_.getTerminator()->setOperands(all);
  for (auto [old, now] : llvm::zip(scan_.getResults(), richer.getResults()))
    old.replaceAllUsesWith(now);
  scan_ = richer;
}

/// A forward value of all steps, outside of the scans.
Value ScanGradient::stackedOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getArgNumber() >= carried())
    return scan_->getOperand(argument.getArgNumber());
  auto yielded = body_.getTerminator()->getOperands().drop_front(carried());
  auto found = llvm::find(yielded, value);
  return scan_.getResult(carried() + (found - yielded.begin()));
}

void ScanGradient::buildBackward() {
  SmallVector<Value> invariants;
  SmallVector<Type> types;
  for (Value value : backward_.residuals) {
    backward_.sequenceArguments.push_back(value);
    backward_.sequenceValues.push_back(stackedOf(value));
  }
  for (Value value : backward_.invariants)
    invariants.push_back(
        scan_->getOperand(cast<BlockArgument>(value).getArgNumber()));
  for (Value value : backward_.carriedStarts)
    types.push_back(value.getType());
  for (Value value : backward_.stacked) {
    RankedTensorType type = tensorType(value);
    SmallVector<int64_t> shape = {int64_t(scan_.getSteps())};
    llvm::append_range(shape, type.getShape());
    types.push_back(type.clone(shape));
  }
  backward_.op = ScanOp::create(builder_, loc_, types, scan_.getSteps(),
                                !scan_.getReverse(), backward_.carriedStarts,
                                backward_.sequenceValues, invariants);
  OpBuilder::InsertionGuard guard(builder_);
  Block *block = builder_.createBlock(&backward_.op.getBody());
  IRMapping values;
  for (Value value : llvm::concat<const Value>(backward_.carriedArguments,
                                               backward_.sequenceArguments,
                                               backward_.invariants))
    values.map(value, block->addArgument(value.getType(), loc_));
  for (Operation &op : body_.without_terminator())
    if (llvm::all_of(op.getOperands(),
                     [&](Value operand) { return values.contains(operand); }) &&
        (!isForward(&op) || isAtHand(&op)) && !values.contains(op.getResult(0)))
      builder_.clone(op, values);
  SmallVector<Value> yielded;
  for (Value value :
       llvm::concat<Value>(backward_.carriedNext, backward_.stacked))
    yielded.push_back(values.lookup(value));
  YieldOp::create(builder_, loc_, yielded);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

//===-- results -----------------------------------------------------------===//

/// The gradient of an invariant by the op's rule, on the rows of all steps.
Value ScanGradient::ofAllSteps(const Batched &batched) {
  size_t which = &batched - batched_.data();
  Value gradient = backward_.op.getResult(backward_.carriedStarts.size() +
                                          backward_.gradientOf[which]);
  Value invariant = scan_->getOperand(batched.invariant);
  auto type = tensorType(gradient);
  if (auto broadcast = dyn_cast<BroadcastOp>(batched.op)) {
    SmallVector<int64_t> dimensions;
    for (int64_t dimension : broadcast.getDimensions())
      dimensions.push_back(dimension + 1);
    auto all = BroadcastOp::create(builder_, loc_, type, invariant, dimensions);
    SmallVector<Value> found = all.pullback(builder_, gradient);
    all.erase();
    return found[0];
  }
  auto one = cast<MatmulOp>(batched.op);
  auto rows = [&](Value value) {
    ArrayRef<int64_t> shape = tensorType(value).getShape();
    return reshape(builder_, loc_, value, {shape[0] * shape[1], shape[2]});
  };
  Value a = rows(stackedOf(one.getA()));
  // The rule of matmuls rounds it: so it is stacked rounded.
  Value g =
      rows(convert(builder_, loc_, gradient, tensorType(a).getElementType()));
  auto all = MatmulOp::create(builder_, loc_, tensorType(g), a, invariant,
                              false, one.getTransposeB());
  SmallVector<Value> found = all.pullback(builder_, g);
  for (Value unused : {found[0], Value(all)})
    while (Operation *op = unused ? unused.getDefiningOp() : nullptr) {
      if (!op->use_empty() || !isMemoryEffectFree(op))
        break;
      unused = op->getOperand(0);
      op->erase();
    }
  return found[1];
}

SmallVector<Value> ScanGradient::gradientsOfOperands() {
  SmallVector<Value> gradients(scan_.getNumOperands());
  unsigned next = 0;
  for (unsigned i = 0; i < carried(); ++i)
    if (isFloat(scan_->getOperand(i)))
      gradients[i] = backward_.op.getResult(next++);
  for (unsigned i = 0; i < sequences(); ++i)
    if (backward_.sliceOf[i] >= 0)
      gradients[carried() + i] = backward_.op.getResult(
          backward_.carriedStarts.size() + backward_.sliceOf[i]);
  DenseMap<unsigned, SmallVector<Value>> ofInvariants;
  for (auto [operand, place] : backward_.sums)
    ofInvariants[operand].push_back(backward_.op.getResult(place));
  for (const Batched &each : batched_)
    ofInvariants[each.invariant].push_back(ofAllSteps(each));
  for (unsigned i = firstInvariant(); i < scan_.getNumOperands(); ++i)
    if (auto found = ofInvariants.find(i); found != ofInvariants.end())
      gradients[i] = addUp(builder_, loc_, found->second);
  return gradients;
}

} // namespace

SmallVector<Value> ScanOp::pullback(OpBuilder &builder, ValueRange g) {
  return ScanGradient(*this, builder, g).run();
}
