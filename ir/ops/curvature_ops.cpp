// Second moments: their verifier, and what they cost.

#include "ir/gram_sizes.h"
#include "ir/ops/verify_type.h"
#include "ir/ops/verify_window.h"

using namespace mlir;
using namespace gradus;

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
