// Finds results of 32 bits that are computed of numbers of 16 bits, and lets
// the nests that read them compute them instead: these read half the bytes, and
// less or nothing is stored.
//
// A normalization in bf16 rounds its result; its gradient reads the centered
// input, and that of a SiLU behind it a sigmoid and a product, all as f32.

#include "codegen/nests/from_narrow.h"

#include "codegen/nests/fuse.h"
#include "codegen/plan/nest_cost.h"
#include "ir/scalar_ops.h"

#include "mlir/IR/IRMapping.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

namespace {

/// The code of one result, from numbers that are in memory or could be.
struct Slice {
  llvm::SmallSetVector<Operation *, 16> ops; // from the last to the first
  llvm::SmallSetVector<BlockArgument, 4> reads;
  Value narrow; // a number of 16 bits that the nest computes; null: none
};

bool hasSixteenBits(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
}

/// Adds what an operand is made of; `stops`: at a rounding to 16 bits. Returns
/// whether the code can run elsewhere.
bool addTo(Slice &slice, Value value, unsigned combined, bool stops) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    slice.reads.insert(argument);
    return argument.getArgNumber() >= combined;
  }
  Operation *op = value.getDefiningOp();
  if (stops && isa<arith::TruncFOp>(op) && hasSixteenBits(value.getType())) {
    bool isOnly = !slice.narrow || slice.narrow == value;
    slice.narrow = value;
    return isOnly;
  }
  if (!scalarOp(op) && !op->hasTrait<OpTrait::ConstantLike>())
    return false;
  if (!slice.ops.insert(op))
    return true;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return addTo(slice, operand, combined, stops);
  });
}

/// Whether neighbours in one tensor are neighbours in the other: readers run
/// through the source as they run through the result.
bool haveSameNeighbours(AffineMap source, AffineMap result) {
  return source.getNumResults() > 0 && result.getNumResults() > 0 &&
         source.getResults().back() == result.getResults().back();
}

/// Whether reading what the slice is of moves at most half the bytes of the
/// result, in its order, and at least one number of 16 bits at each point.
bool readsLess(NestOp nest, OpResult result, const Slice &slice) {
  NestParts parts = partsOf(nest);
  AffineMap written = parts.outputMaps[result.getResultNumber()];
  int64_t points = product(nest.getParallel()), bits = slice.narrow ? 16 : 0;
  bool isOfNarrow = bool(slice.narrow);
  for (BlockArgument argument : slice.reads) {
    const NestRead &read =
        parts.thenReads[argument.getArgNumber() - parts.combine.size()];
    if (read.isGuarded())
      return false;
    if (product(shapeOf(read.value)) < points)
      continue;
    if (!haveSameNeighbours(read.map, written))
      return false;
    Type type = argument.getType();
    bits += type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
    isOfNarrow |= hasSixteenBits(type);
  }
  return isOfNarrow &&
         2 * bits <= getElementTypeOrSelf(result).getIntOrFloatBitWidth();
}

/// The code of a result from what is in memory in any case, or, if it `stops`,
/// from a number of 16 bits to store instead.
std::optional<Slice> sliceOf(NestOp nest, OpResult result, bool stops) {
  Slice slice;
  if (!addTo(slice, yieldedFor(result), nest.getCombine().size(), stops) ||
      slice.ops.empty() || !readsLess(nest, result, slice))
    return std::nullopt;
  return slice;
}

/// Copies the ops of a slice, in their order, behind values for what it is of.
Value copyOf(OpBuilder &builder, const Slice &slice, Value yielded,
             ValueRange values) {
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip(slice.reads, values))
    mapping.map(argument, value);
  if (slice.narrow)
    mapping.map(slice.narrow, values.back());
  SmallVector<Operation *> ops(slice.ops.begin(), slice.ops.end());
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  return mapping.lookup(yielded);
}

/// Builds the nest that computes a result again, of `source` where the slice
/// has a number of its own.
NestOp nestOf(NestOp nest, OpResult result, const Slice &slice, Type type,
              Value source) {
  NestParts own = partsOf(nest), parts;
  parts.parallel = own.parallel;
  parts.outputMaps = {own.outputMaps[result.getResultNumber()]};
  parts.resultTypes = {type};
  for (BlockArgument argument : slice.reads)
    parts.thenReads.push_back(
        own.thenReads[argument.getArgNumber() - own.combine.size()]);
  if (slice.narrow)
    parts.thenReads.push_back({source, parts.outputMaps[0], {}});
  Value yielded = yieldedFor(result);
  OpBuilder builder(nest->getContext());
  builder.setInsertionPointAfter(nest);
  auto then = [&](OpBuilder &body, Location, ValueRange values) {
    return SmallVector<Value>{copyOf(body, slice, yielded, values)};
  };
  return buildNest(builder, nest.getLoc(), parts, nullptr, then);
}

/// The nests that use a value; none if something else does.
SmallVector<NestOp> nestsUsing(Value value) {
  llvm::SmallSetVector<Operation *, 4> users(value.user_begin(),
                                             value.user_end());
  SmallVector<NestOp> nests;
  for (Operation *user : users)
    if (auto nest = dyn_cast<NestOp>(user))
      nests.push_back(nest);
    else
      return {};
  return nests;
}

/// Whether a contraction would compute the value for each of its products.
bool feedsProducts(Value value, NestOp user) {
  return isContraction(user) && llvm::is_contained(user.getMapInputs(), value);
}

/// Whether the result has a wide number at each of many points.
bool isWideTensor(NestOp nest, OpResult result) {
  constexpr int64_t fewPoints = 4096;
  int64_t points = product(nest.getParallel());
  return getElementTypeOrSelf(result).isF32() && points > fewPoints &&
         product(shapeOf(result)) == points;
}

/// Computes one result again in the nests that read it, if all of them can.
class Again {
public:
  Again(NestOp nest, OpResult result, const Slice &slice)
      : nest_(nest), result_(result), slice_(slice), wide_(result.getType()) {
    Value source = slice.narrow ? sameNumbers(result, slice.narrow) : Value();
    if (slice.narrow && !source) {
      result.setType(
          cast<RankedTensorType>(wide_).clone(slice.narrow.getType()));
      source = result, stores_ = true;
    }
    again_ = nestOf(nest, result, slice, wide_, source);
    result.replaceAllUsesExcept(again_->getResult(0), again_);
  }

  bool fits(ArrayRef<NestOp> users, TooMuch isTooMuch) {
    // An exponential, a quotient, and a normalization before and behind them.
    constexpr int64_t mostWork = 48;
    return costOf(again_.getThen()).work <= mostWork &&
           llvm::all_of(users, [&](NestOp user) {
             return canInline(user, again_) && !isTooMuch(user, again_) &&
                    !feedsProducts(again_->getResult(0), user);
           });
  }

  void finish(ArrayRef<NestOp> users) {
    if (stores_)
      nest_.getThen().front().getTerminator()->setOperand(
          result_.getResultNumber(), slice_.narrow);
    for (NestOp user : users)
      inlineProducer(user, again_);
    again_.erase();
  }

  void undo() {
    again_->getResult(0).replaceAllUsesWith(result_);
    result_.setType(wide_);
    again_.erase();
  }

private:
  NestOp nest_, again_;
  OpResult result_;
  const Slice &slice_;
  Type wide_;
  bool stores_ = false;
};

bool computeElsewhere(NestOp nest, OpResult result, TooMuch isTooMuch) {
  SmallVector<NestOp> users = nestsUsing(result);
  if (users.empty())
    return false;
  for (bool stops : {false, true}) {
    std::optional<Slice> slice = sliceOf(nest, result, stops);
    if (!slice)
      continue;
    Again again(nest, result, *slice);
    if (again.fits(users, isTooMuch)) {
      again.finish(users);
      return true;
    }
    again.undo();
  }
  return false;
}

} // namespace

Value yieldedFor(OpResult result) {
  auto nest = cast<NestOp>(result.getOwner());
  return nest.getThen().front().getTerminator()->getOperand(
      result.getResultNumber());
}

Value sameNumbers(OpResult result, Value number) {
  auto nest = cast<NestOp>(result.getOwner());
  for (OpResult other : nest->getResults())
    if (other != result && yieldedFor(other) == number &&
        nest.getOutputMap(other.getResultNumber()) ==
            nest.getOutputMap(result.getResultNumber()))
      return other;
  return {};
}

unsigned computeFromNarrow(NestOp nest, TooMuch isTooMuch) {
  unsigned done = 0;
  for (OpResult result : nest->getResults())
    done +=
        isWideTensor(nest, result) && computeElsewhere(nest, result, isTooMuch);
  return done;
}

} // namespace gradus
