// Scans: their rules, what they are without a loop, and what nobody uses of
// them.

#include "ir/scan_ops.h"

#include "ir/build.h"
#include "ir/op_costs.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace gradus;

//===-- rules -------------------------------------------------------------===//

/// The type of a step's slice of a sequence.
static RankedTensorType sliceOf(Type sequence) {
  auto type = cast<RankedTensorType>(sequence);
  return type.clone(type.getShape().drop_front());
}

LogicalResult ScanOp::verify() {
  int64_t steps = getSteps();
  if (steps < 1)
    return emitOpError("has ") << steps << " steps, expected 1 or more";
  auto isStacked = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() > 0 && tensor.getDimSize(0) == steps;
  };
  for (Type type : getSequences().getTypes())
    if (!isStacked(type))
      return emitOpError("runs over ")
             << type << ", whose first dimension is not its " << steps
             << " steps";
  size_t carried = getCarried().size();
  if (getNumResults() < carried)
    return emitOpError("has ") << getNumResults() << " results, expected the "
                               << carried << " carried values and more";
  for (auto [found, expected] :
       llvm::zip(getResultTypes(), getCarried().getTypes()))
    if (found != expected)
      return emitOpError("carries ") << expected << ", but returns " << found;
  for (Type type : TypeRange(getResultTypes()).drop_front(carried))
    if (!isStacked(type))
      return emitOpError("stacks slices to ")
             << type << ", whose first dimension is not its " << steps
             << " steps";
  return success();
}

/// Compares the types of a body's arguments or yielded values.
static LogicalResult expectTypes(ScanOp op, StringRef what, TypeRange found,
                                 ArrayRef<Type> expected) {
  if (found.size() != expected.size())
    return op.emitOpError("has a body with ")
           << found.size() << " " << what << ", expected " << expected.size();
  for (auto [number, each] : llvm::enumerate(found))
    if (each != expected[number])
      return op.emitOpError("has a body with ")
             << each << " as number " << number << " of its " << what
             << ", expected " << expected[number];
  return success();
}

/// Whether training replaces an op, or gives it random numbers of its own. The
/// passes that do so see only the ops of a graph itself.
static bool hasTrainingForm(Operation &op) {
  if (auto norm = dyn_cast<BatchNormOp>(op))
    return norm.getMomentum().has_value();
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.getDropout().has_value();
  return isa<DropoutOp, RandomBitsOp>(op);
}

/// Checks what an op of a body does.
static LogicalResult expectInBody(Operation &op) {
  if (isa<ScanOp>(op))
    return op.emitOpError("is in the body of a scan, which may have no scan of "
                          "its own");
  if (hasTrainingForm(op))
    return op.emitOpError("is in the body of a scan, whose ops may neither be "
                          "others in training nor draw random numbers");
  if (!isMemoryEffectFree(&op))
    return op.emitOpError("is in the body of a scan, whose ops may have no "
                          "effect beside their results");
  return success();
}

LogicalResult ScanOp::verifyRegions() {
  Block &block = getBodyBlock();
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("has a body that does not end in gradus.yield");
  SmallVector<Type> arguments(getCarried().getTypes()),
      yielded(getCarried().getTypes());
  for (Type type : getSequences().getTypes())
    arguments.push_back(sliceOf(type));
  llvm::append_range(arguments, getInvariants().getTypes());
  for (Type type : TypeRange(getResultTypes()).drop_front(getCarried().size()))
    yielded.push_back(sliceOf(type));
  if (failed(expectTypes(*this, "arguments", block.getArgumentTypes(),
                         arguments)) ||
      failed(expectTypes(*this, "yielded values", getYielded().getTypes(),
                         yielded)))
    return failure();
  return success(llvm::all_of(
      block, [](Operation &op) { return succeeded(expectInBody(op)); }));
}

//===-- cost --------------------------------------------------------------===//

/// The longest sum of a step, and a rounding for each step behind it.
int64_t ScanOp::getSummedTerms() {
  int64_t most = 1;
  for (Operation &op : getBodyBlock().without_terminator())
    most = std::max(most, summedTerms(op));
  return most + getSteps();
}

int64_t ScanOp::getFlops() {
  int64_t flops = 0;
  for (Operation &op : getBodyBlock().without_terminator())
    flops += graphFlops(op);
  return flops * getSteps();
}

//===-- without a loop ----------------------------------------------------===//

bool ScanOp::staysWhole() { return true; }

/// The slice of a step, without the dimension of steps.
static Value sliceAt(OpBuilder &builder, Location loc, Value sequence,
                     int64_t step) {
  RankedTensorType type = tensorType(sequence);
  SmallVector<int64_t> shape(type.getShape()), starts(shape.size(), 0),
      steps(shape.size(), 1);
  shape[0] = 1;
  starts[0] = step;
  Value one = builder.createOrFold<SliceOp>(loc, type.clone(shape), sequence,
                                            starts, steps);
  return reshape(builder, loc, one, type.getShape().drop_front());
}

/// Writes the body once for each step.
SmallVector<Value> ScanOp::decompose(OpBuilder &builder) {
  SmallVector<Value> carried(getCarried());
  size_t stacked = getNumResults() - carried.size();
  std::vector<SmallVector<Value>> slices(stacked,
                                         SmallVector<Value>(getSteps()));
  for (int64_t i = 0; i < int64_t(getSteps()); ++i) {
    int64_t step = getReverse() ? getSteps() - 1 - i : i;
    IRMapping values;
    values.map(getCarriedArguments(), carried);
    for (auto [slice, sequence] : llvm::zip(getSlices(), getSequences()))
      values.map(slice, sliceAt(builder, getLoc(), sequence, step));
    values.map(getInvariantArguments(), getInvariants());
    for (Operation &op : getBodyBlock().without_terminator())
      builder.clone(op, values);
    for (auto [number, value] : llvm::enumerate(getYielded())) {
      Value now = values.lookupOrDefault(value);
      if (number < carried.size()) {
        carried[number] = now;
        continue;
      }
      SmallVector<int64_t> shape = {1};
      llvm::append_range(shape, tensorType(now).getShape());
      slices[number - carried.size()][step] =
          reshape(builder, getLoc(), now, shape);
    }
  }
  for (auto [parts, type] : llvm::zip(
           slices, TypeRange(getResultTypes()).drop_front(carried.size())))
    carried.push_back(
        builder.createOrFold<ConcatenateOp>(getLoc(), type, parts, 0));
  return carried;
}

//===-- what nobody uses --------------------------------------------------===//

namespace {
/// What remains of a scan: numbers of results and of the body's arguments.
struct Remains {
  llvm::BitVector results, arguments;
};
} // namespace

/// The values that a body's ops read, from the yielded ones in `results` on.
static llvm::BitVector argumentsRead(ScanOp op,
                                     const llvm::BitVector &results) {
  llvm::BitVector arguments(op.getBodyBlock().getNumArguments());
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work;
  for (unsigned number : results.set_bits())
    work.push_back(op.getYielded()[number]);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value))
      arguments.set(argument.getArgNumber());
    else if (seen.insert(value.getDefiningOp()).second)
      llvm::append_range(work, value.getDefiningOp()->getOperands());
  }
  return arguments;
}

/// Used results, the carried values that they need, and what the body reads.
static Remains remainsOf(ScanOp op) {
  Remains remains{llvm::BitVector(op.getNumResults()), {}};
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      remains.results.set(result.getResultNumber());
  for (bool changed = true; changed;) {
    remains.arguments = argumentsRead(op, remains.results);
    changed = false;
    for (unsigned i = 0; i < op.getCarried().size(); ++i)
      if (remains.arguments.test(i) != remains.results.test(i)) {
        changed |= !remains.results.test(i);
        remains.results.set(i);
        remains.arguments.set(i);
      }
  }
  return remains;
}

/// Drops the results without users, and the operands that only they need.
static LogicalResult dropUnused(ScanOp op, PatternRewriter &rewriter) {
  Remains remains = remainsOf(op);
  if (op->use_empty() || (remains.results.all() && remains.arguments.all()))
    return failure();
  SmallVector<Value> groups[3], yielded;
  SmallVector<Type> types;
  size_t ends[] = {op.getCarried().size(),
                   op.getCarried().size() + op.getSequences().size()};
  for (unsigned number : remains.arguments.set_bits())
    groups[(number >= ends[0]) + (number >= ends[1])].push_back(
        op->getOperand(number));
  for (unsigned number : remains.results.set_bits()) {
    types.push_back(op.getResult(number).getType());
    yielded.push_back(op.getYielded()[number]);
  }
  auto lesser =
      ScanOp::create(rewriter, op.getLoc(), types, op.getSteps(),
                     op.getReverse(), groups[0], groups[1], groups[2]);
  rewriter.modifyOpInPlace(op.getBodyBlock().getTerminator(), [&] {
    op.getBodyBlock().getTerminator()->setOperands(yielded);
  });
  rewriter.inlineRegionBefore(op.getBody(), lesser.getBody(),
                              lesser.getBody().end());
  Block &block = lesser.getBodyBlock();
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (inner.use_empty() && !inner.hasTrait<OpTrait::IsTerminator>())
      rewriter.eraseOp(&inner);
  rewriter.modifyOpInPlace(lesser, [&] {
    llvm::BitVector unread = remains.arguments;
    block.eraseArguments(unread.flip());
  });
  SmallVector<Value> results(op.getNumResults());
  for (auto [number, result] :
       llvm::zip(remains.results.set_bits(), lesser.getResults()))
    results[number] = result;
  for (auto [from, to] : llvm::zip(op.getResults(), results))
    if (to)
      rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(op);
  return success();
}

//===-- what is stored ----------------------------------------------------===//

/// Replaces results that stack the same values.
static LogicalResult mergeResults(ScanOp op, PatternRewriter &rewriter) {
  DenseMap<Value, Value> stacked;
  LogicalResult changed = failure();
  size_t carried = op.getCarried().size();
  for (auto [value, result] :
       llvm::drop_begin(llvm::zip(op.getYielded(), op.getResults()), carried)) {
    auto [first, isNew] = stacked.insert({value, result});
    if (isNew || result.use_empty())
      continue;
    rewriter.replaceAllUsesWith(result, first->second);
    changed = success();
  }
  return changed;
}

/// Extends what is stored in 16 bits in the steps, not before them.
static LogicalResult readNarrow(ScanOp op, PatternRewriter &rewriter) {
  LogicalResult changed = failure();
  for (auto [operand, slice] :
       llvm::zip(op.getSequencesMutable(), op.getSlices())) {
    auto extension = operand.get().getDefiningOp<arith::ExtFOp>();
    if (!extension)
      continue;
    Type wide = slice.getType();
    rewriter.modifyOpInPlace(op, [&] {
      operand.set(extension.getIn());
      slice.setType(sliceOf(extension.getIn().getType()));
    });
    rewriter.setInsertionPointToStart(&op.getBodyBlock());
    auto inside =
        arith::ExtFOp::create(rewriter, extension.getLoc(), wide, slice);
    rewriter.replaceAllUsesExcept(slice, inside, inside);
    changed = success();
  }
  return changed;
}

/// The rounding that all users of a value are, with each other; or null.
static arith::TruncFOp onlyRounding(Value value) {
  arith::TruncFOp first;
  for (Operation *user : value.getUsers()) {
    auto rounding = dyn_cast<arith::TruncFOp>(user);
    if (!rounding || (first && first.getType() != rounding.getType()))
      return {};
    first = rounding;
  }
  return first;
}

/// Rounds slices in the steps if the stacked result is rounded behind them.
static LogicalResult stackNarrow(ScanOp op, PatternRewriter &rewriter) {
  LogicalResult changed = failure();
  Operation *yield = op.getBodyBlock().getTerminator();
  for (OpResult result : op->getResults().drop_front(op.getCarried().size())) {
    arith::TruncFOp rounding = onlyRounding(result);
    if (!rounding)
      continue;
    rewriter.setInsertionPoint(yield);
    Value slice = yield->getOperand(result.getResultNumber());
    auto inside = arith::TruncFOp::create(rewriter, rounding.getLoc(),
                                          sliceOf(rounding.getType()), slice);
    rewriter.modifyOpInPlace(
        yield, [&] { yield->setOperand(result.getResultNumber(), inside); });
    rewriter.modifyOpInPlace(op, [&] { result.setType(rounding.getType()); });
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      rewriter.replaceOp(user, result);
    changed = success();
  }
  return changed;
}

LogicalResult ScanOp::canonicalize(ScanOp op, PatternRewriter &rewriter) {
  if (op->use_empty())
    return failure();
  return success(succeeded(mergeResults(op, rewriter)) ||
                 succeeded(readNarrow(op, rewriter)) ||
                 succeeded(stackNarrow(op, rewriter)) ||
                 succeeded(dropUnused(op, rewriter)));
}
