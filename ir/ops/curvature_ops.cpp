// Second moments and inverses: their verifiers, what they cost, and the
// gradient of an inverse.

#include "ir/arithmetic.h"
#include "ir/gram_sizes.h"
#include "ir/ops/verify_type.h"
#include "ir/ops/verify_window.h"

using namespace mlir;
using namespace gradus;

//===-- gram --------------------------------------------------------------===//

static LogicalResult verifyPatches(GramOp op) {
  RankedTensorType type = tensorType(op.getInput());
  if (type.getRank() < 3)
    return op.emitOpError("slides a window over ")
           << type << ", expected an image [N, C, spatial...]";
  return verifyWindow(op, windowOf(op, *op.getWindow()),
                      type.getShape().drop_front(2));
}

LogicalResult GramOp::verify() {
  RankedTensorType type = tensorType(getInput());
  std::optional<int64_t> axis = getAxis();
  if (axis.has_value() == getWindow().has_value())
    return emitOpError("expected an axis or a window, found ")
           << (axis ? "both" : "neither");
  if (type.getRank() < 2)
    return emitOpError("has an input of type ")
           << type << ", expected rows and columns";
  if (axis && (*axis < 0 || *axis >= type.getRank()))
    return emitOpError("has its columns along axis ")
           << *axis << " of " << type;
  if (getWindow() && failed(verifyPatches(*this)))
    return failure();
  int64_t channels = type.getDimSize(axis.value_or(1)), groups = getGroups(),
          block = getBlock();
  if (groups < 1 || channels % groups)
    return emitOpError("has ") << groups << " groups, which do not divide "
                               << channels << " channels";
  if (block < 1)
    return emitOpError("has blocks of ")
           << block << " columns, expected at least 1";
  return verifyType(*this, "a result", getType(), GramSizes(*this).result(),
                    computeType(type.getElementType()));
}

int64_t GramOp::getSummedTerms() { return GramSizes(*this).count(); }

/// A multiplication and an addition for each product of two columns and each
/// row.
int64_t GramOp::getFlops() {
  GramSizes sizes(*this);
  int64_t last = sizes.columns % sizes.block,
          products = sizes.columns / sizes.block * sizes.block * sizes.block +
                     last * last;
  return 2 * sizes.count() * sizes.groups * products;
}

//===-- inverse -----------------------------------------------------------===//

LogicalResult InverseOp::verify() {
  constexpr int64_t largest = 512;
  RankedTensorType type = getType();
  if (type.getRank() < 2 ||
      type.getShape().back() != type.getShape().drop_back().back())
    return emitOpError("expected square matrices in the last two dimensions, "
                       "found ")
           << type;
  if (type.getShape().back() > largest)
    return emitOpError("has matrices of ")
           << type.getShape().back() << " rows, expected at most " << largest;
  return success();
}

int64_t InverseOp::getSummedTerms() { return getType().getShape().back(); }

/// A third of n^3 each for the factor, for its inverse and for the product of
/// that with its transpose.
int64_t InverseOp::getFlops() {
  return getType().getNumElements() * getType().getShape().back();
}

/// A change of an element above the diagonal is one of the element below it,
/// which is not read, too.
SmallVector<Value> InverseOp::pullback(OpBuilder &builder, ValueRange g) {
  Arithmetic a{builder, getLoc()};
  RankedTensorType type = getType();
  int64_t rank = type.getRank();
  SmallVector<int64_t> exchanged = allAxes(rank);
  std::swap(exchanged[rank - 2], exchanged[rank - 1]);
  Value both = a.add(g[0], transpose(builder, a.loc, g[0], exchanged)),
        right = matmul(builder, a.loc, both, getResult()),
        slope = a.negate(matmul(builder, a.loc, getResult(), right));
  auto numbers = type.clone(builder.getI32Type());
  Value row = iota(builder, a.loc, numbers, rank - 2),
        column = iota(builder, a.loc, numbers, rank - 1);
  using Is = arith::CmpIPredicate;
  Value onDiagonal = a.select(a.compare(Is::eq, row, column),
                              a.scale(0.5, slope), a.number(0, slope));
  return {a.select(a.compare(Is::slt, row, column), slope, onDiagonal)};
}
