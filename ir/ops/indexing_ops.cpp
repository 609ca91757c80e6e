// Verifiers and folders of the ops that slice, join and gather.

#include "ir/build.h"
#include "ir/gather_sizes.h"
#include "ir/ops/verify_type.h"

using namespace mlir;
using namespace gradus;

/// Verifies that there is one number for each dimension of a tensor.
static LogicalResult verifyCount(Operation *op, ArrayRef<int64_t> numbers,
                                 StringRef name, int64_t rank) {
  if (int64_t(numbers.size()) == rank)
    return success();
  return op->emitOpError("has ")
         << numbers.size() << " " << name << " for a tensor of rank " << rank;
}

//===-- slice -------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  RankedTensorType from = tensorType(getInput()), to = getType();
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return emitOpError("makes ") << to << " of " << from
                                 << ", expected the same rank and element type";
  if (failed(verifyCount(*this, getStarts(), "starts", from.getRank())) ||
      failed(verifyCount(*this, getSteps(), "steps", from.getRank())))
    return failure();
  for (auto [d, start, step] : llvm::enumerate(getStarts(), getSteps())) {
    int64_t last = start + (to.getDimSize(d) - 1) * step,
            size = from.getDimSize(d);
    bool inside = std::min(start, last) >= 0 && std::max(start, last) < size;
    if (step == 0 || (to.getDimSize(d) > 0 && !inside))
      return emitOpError("takes elements ")
             << start << " to " << last << " in steps of " << step
             << " along dimension " << d << ", which has size " << size;
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() &&
      llvm::all_of(getSteps(), [](int64_t step) { return step == 1; }))
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(getType());
  return {};
}

//===-- pad ---------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  RankedTensorType from = tensorType(getInput());
  SmallVector<int64_t> shape;
  for (auto [numbers, name] : {std::pair(getLow(), "low"),
                               {getHigh(), "high"},
                               {getInterior(), "interior"}}) {
    if (failed(verifyCount(*this, numbers, name, from.getRank())))
      return failure();
    for (int64_t number : numbers)
      if (number < 0)
        return emitOpError("has ")
               << name << " [" << numbers << "], expected nothing below 0";
  }
  for (auto [d, size] : llvm::enumerate(from.getShape()))
    shape.push_back(getLow()[d] + size +
                    std::max<int64_t>(0, size - 1) * getInterior()[d] +
                    getHigh()[d]);
  return verifyType(*this, "a result", getType(), shape, from.getElementType());
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput())
                                           : OpFoldResult();
}

//===-- concatenate -------------------------------------------------------===//

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no inputs");
  RankedTensorType first = tensorType(getInputs()[0]);
  int64_t axis = getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOpError("axis ") << axis << " is out of range for " << first;
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value input : getInputs()) {
    RankedTensorType type = tensorType(input);
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[axis] = type.getDimSize(axis);
    if (type != RankedTensorType::get(expected, first.getElementType()))
      return emitOpError("puts ")
             << type << " beside " << first
             << ", which differ in more than dimension " << axis;
    shape[axis] += expected[axis];
  }
  return verifyType(*this, "a result", getType(), shape,
                    first.getElementType());
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs()[0])
                                 : OpFoldResult();
}

//===-- gather, scatter_add -----------------------------------------------===//

/// Verifies a table, the indices into it, and the elements at them.
static LogicalResult verifyGather(Operation *op, RankedTensorType table,
                                  RankedTensorType indices, int64_t axis,
                                  int64_t batchDims, RankedTensorType taken,
                                  bool resultIsTaken) {
  if (axis < 0 || axis >= table.getRank())
    return op->emitOpError("axis ") << axis << " is out of range for " << table;
  if (batchDims < 0 || batchDims > axis || batchDims > indices.getRank() ||
      table.getShape().take_front(batchDims) !=
          indices.getShape().take_front(batchDims))
    return op->emitOpError("has ")
           << batchDims << " batch dimensions, which " << table << " and "
           << indices << " do not share before axis " << axis;
  return verifyType(
      op, resultIsTaken ? "a result" : "updates", taken,
      gatheredShape(table.getShape(), indices.getShape(), axis, batchDims),
      table.getElementType());
}

LogicalResult GatherOp::verify() {
  return verifyGather(*this, tensorType(getInput()), tensorType(getIndices()),
                      getAxis(), getBatchDims(), getType(), true);
}

LogicalResult ScatterAddOp::verify() {
  return verifyGather(*this, getType(), tensorType(getIndices()), getAxis(),
                      getBatchDims(), tensorType(getUpdates()), false);
}
