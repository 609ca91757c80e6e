// Verifiers and folders of the ops that move, combine and describe elements.

#include "ir/build.h"
#include "ir/ops/verify_type.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gradus;

/// A splat of the same number in another shape; null if `input` is no splat.
static OpFoldResult foldSplat(Attribute input, RankedTensorType type) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(input))
    return splat.resizeSplat(type);
  return {};
}

/// Whether `dimensions` is 0, 1, 2, ...
static bool isIdentity(ArrayRef<int64_t> dimensions) {
  for (auto [position, dimension] : llvm::enumerate(dimensions))
    if (dimension != int64_t(position))
      return false;
  return true;
}

//===-- reshape -----------------------------------------------------------===//

/// Whether both are the same type or integers of one width, whatever their
/// sign.
static bool haveSameBits(Type a, Type b) {
  return a == b || (isa<IntegerType>(a) && isa<IntegerType>(b) &&
                    a.getIntOrFloatBitWidth() == b.getIntOrFloatBitWidth());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = tensorType(getInput()), to = getType();
  if (!haveSameBits(from.getElementType(), to.getElementType()))
    return emitOpError("changes the element type of ") << from << " to " << to;
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("makes ") << to << " of " << from << ", which has "
                                 << from.getNumElements() << " elements";
  return success();
}

/// Only the last of several reshapes in a row matters.
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput());
  if (elements && elements.getElementType() == getType().getElementType())
    return elements.reshape(getType());
  return {};
}

//===-- transpose ---------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  RankedTensorType input = tensorType(getInput());
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (int64_t(sorted.size()) != input.getRank() || !isIdentity(sorted))
    return emitOpError("has permutation [")
           << permutation << "], expected each of the " << input.getRank()
           << " dimensions of the input once";
  SmallVector<int64_t> shape;
  for (int64_t dimension : permutation)
    shape.push_back(input.getDimSize(dimension));
  return verifyType(*this, "a result", getType(), shape,
                    input.getElementType());
}

/// Merges two transposes.
OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()))
    return getInput();
  if (auto inner = getInput().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> both;
    for (int64_t dimension : getPermutation())
      both.push_back(inner.getPermutation()[dimension]);
    setPermutation(both);
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getType());
}

//===-- broadcast ---------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tensorType(getInput()), to = getType();
  ArrayRef<int64_t> dimensions = getDimensions();
  if (int64_t(dimensions.size()) != from.getRank())
    return emitOpError("has ")
           << dimensions.size() << " dims for an input of rank "
           << from.getRank();
  if (from.getElementType() != to.getElementType())
    return emitOpError("changes the element type of ") << from << " to " << to;
  for (auto [position, dimension] : llvm::enumerate(dimensions)) {
    if (dimension >= to.getRank())
      return emitOpError("puts dimension ")
             << position << " of the input at " << dimension
             << " of the result, which has rank " << to.getRank();
    int64_t size = from.getDimSize(position);
    if (size != 1 && size != to.getDimSize(dimension))
      return emitOpError("cannot repeat dimension ")
             << position << " of the input, of size " << size << ", to size "
             << to.getDimSize(dimension);
  }
  return success();
}

/// Merges two broadcasts.
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> both;
    for (int64_t dimension : inner.getDimensions())
      both.push_back(getDimensions()[dimension]);
    setDimensions(both);
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getType());
}

//===-- reduce ------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType input = tensorType(getInput());
  SmallVector<int64_t> shape;
  for (int64_t axis : getAxes())
    if (axis >= input.getRank())
      return emitOpError("axis ") << axis << " is out of range for " << input
                                  << ", which has rank " << input.getRank();
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (!llvm::is_contained(getAxes(), d))
      shape.push_back(input.getDimSize(d));
  if (getKind() == Reduction::mean && !isa<FloatType>(input.getElementType()))
    return emitOpError("takes the mean of ") << input << ", expected floats";
  return verifyType(*this, "a result", getType(), shape,
                    input.getElementType());
}

/// Without axes nothing is combined.
OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getAxes().empty() ? OpFoldResult(getInput()) : OpFoldResult();
}

//===-- iota, matmul ------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  int64_t axis = getAxis();
  if (axis >= 0 && axis < getType().getRank())
    return success();
  return emitOpError("axis ") << axis << " is out of range for " << getType();
}

/// The rows and columns of a matmul's operand after its transpose.
static std::pair<int64_t, int64_t> matrixSizes(RankedTensorType type,
                                               bool transposed) {
  ArrayRef<int64_t> sizes = type.getShape().take_back(2);
  return transposed ? std::pair(sizes[1], sizes[0])
                    : std::pair(sizes[0], sizes[1]);
}

/// The element type that the result of a matmul must have: that of the
/// operands, or f32 if they are narrow.
static Type productType(RankedTensorType result, Type element) {
  Type wide = computeType(element);
  return result.getElementType() == wide ? wide : element;
}

LogicalResult MatmulOp::verify() {
  RankedTensorType a = tensorType(getA()), b = tensorType(getB());
  if (a.getRank() < 2 || a.getRank() != b.getRank() ||
      a.getElementType() != b.getElementType())
    return emitOpError("expected two operands of one element type and one rank "
                       "of at least 2, found ")
           << a << " and " << b;
  if (a.getShape().drop_back(2) != b.getShape().drop_back(2))
    return emitOpError("expected equal batch dimensions, found ")
           << a << " and " << b;
  auto [rows, inner] = matrixSizes(a, getTransposeA());
  auto [innerB, columns] = matrixSizes(b, getTransposeB());
  if (inner != innerB)
    return emitOpError("multiplies ")
           << inner << " columns of " << a
           << (getTransposeA() ? " transposed" : "") << " by " << innerB
           << " rows of " << b << (getTransposeB() ? " transposed" : "");
  SmallVector<int64_t> shape(a.getShape().drop_back(2));
  shape.append({rows, columns});
  return verifyType(*this, "a result", getType(), shape,
                    productType(getType(), a.getElementType()));
}
