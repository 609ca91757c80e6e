// Sums gradients; see add_up.h.

#include "ir/add_up.h"

#include "ir/build.h"

namespace gradus {
using namespace mlir;

namespace {

//===-- parts of a tensor -------------------------------------------------===//

/// A contribution that is zero except in a range along one axis.
struct Part {
  Value value;
  int64_t start, size;
};

bool allZero(ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t n) { return n == 0; });
}

/// The axis along which a value was padded with zeros, or -1.
int64_t paddedAxis(PadOp pad) {
  if (!pad || !allZero(pad.getInterior()) || !pad.getValue().isZero())
    return -1;
  int64_t axis = -1;
  for (auto [d, low, high] : llvm::enumerate(pad.getLow(), pad.getHigh())) {
    if (low == 0 && high == 0)
      continue;
    if (axis >= 0)
      return -1;
    axis = d;
  }
  return axis;
}

bool overlap(ArrayRef<Part> sorted) {
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].start < sorted[i - 1].start + sorted[i - 1].size)
      return true;
  return false;
}

/// Concatenates the parts, with zeros in the gaps.
Value joined(OpBuilder &builder, Location loc, RankedTensorType type,
             int64_t axis, ArrayRef<Part> sorted) {
  SmallVector<Value> pieces;
  int64_t end = 0;
  auto fillTo = [&](int64_t start) {
    if (start == end)
      return;
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = start - end;
    pieces.push_back(splat(builder, loc, type.clone(shape), 0));
  };
  for (const Part &part : sorted) {
    fillTo(part.start);
    pieces.push_back(part.value);
    end = part.start + part.size;
  }
  fillTo(type.getDimSize(axis));
  return builder.createOrFold<ConcatenateOp>(loc, type, pieces, axis);
}

/// Joins the contributions that are parts along `axis`; the result is at the
/// position of the first of them.
void joinParts(OpBuilder &builder, Location loc, int64_t axis,
               SmallVector<Value> &contributions) {
  auto isPart = [&](Value value) {
    return paddedAxis(value.getDefiningOp<PadOp>()) == axis;
  };
  SmallVector<Part> parts;
  for (Value value : contributions)
    if (isPart(value)) {
      auto pad = value.getDefiningOp<PadOp>();
      parts.push_back({pad.getInput(), pad.getLow()[axis],
                       tensorType(pad.getInput()).getDimSize(axis)});
    }
  llvm::stable_sort(
      parts, [](const Part &a, const Part &b) { return a.start < b.start; });
  if (parts.size() < 2 || overlap(parts))
    return;
  auto first = llvm::find_if(contributions, isPart) - contributions.begin();
  Value whole =
      joined(builder, loc, tensorType(contributions[first]), axis, parts);
  llvm::erase_if(contributions, isPart);
  contributions.insert(contributions.begin() + first, whole);
}

//===-- matmuls ----------------------------------------------------------===//

/// The matmul A' B of two matrices, which is a sum over rows.
MatmulOp matmulOfRows(Value value) {
  auto matmul = value.getDefiningOp<MatmulOp>();
  bool fits = matmul && matmul.getTransposeA() && !matmul.getTransposeB() &&
              matmul.getType().getRank() == 2;
  return fits ? matmul : MatmulOp();
}

Value stacked(OpBuilder &builder, Location loc, ArrayRef<Value> parts) {
  SmallVector<int64_t> shape(tensorType(parts[0]).getShape());
  shape[0] = 0;
  for (Value part : parts)
    shape[0] += tensorType(part).getDimSize(0);
  return builder.createOrFold<ConcatenateOp>(
      loc, tensorType(parts[0]).clone(shape), parts, 0);
}

/// Joins a sum of many such matmuls to one matmul with all their rows.
void joinMatmuls(OpBuilder &builder, Location loc,
                 SmallVector<Value> &contributions) {
  constexpr size_t few = 3;
  Type element = tensorType(contributions.front()).getElementType();
  SmallVector<Value> left, right;
  for (Value value : contributions)
    if (MatmulOp matmul = matmulOfRows(value)) {
      left.push_back(matmul.getA());
      right.push_back(matmul.getB());
    }
  if (left.size() <= few)
    return;
  llvm::erase_if(contributions,
                 [](Value value) { return bool(matmulOfRows(value)); });
  contributions.push_back(matmul(builder, loc, stacked(builder, loc, left),
                                 stacked(builder, loc, right), true, false,
                                 element));
}

} // namespace

Value addUp(OpBuilder &builder, Location loc, ArrayRef<Value> given) {
  SmallVector<Value> contributions(given);
  for (int64_t axis = 0; axis < tensorType(given[0]).getRank(); ++axis)
    joinParts(builder, loc, axis, contributions);
  if (contributions.size() == 1)
    return contributions.front();
  Type element = tensorType(given[0]).getElementType();
  for (Value &value : contributions) // a sum in 16 bits is rounded once
    value = unrounded(builder, loc, value, computeType(element));
  joinMatmuls(builder, loc, contributions);
  Value sum = contributions.front();
  for (Value next : llvm::drop_begin(contributions))
    sum = arith::AddFOp::create(builder, loc, sum, next);
  return convert(builder, loc, sum, element);
}

} // namespace gradus
