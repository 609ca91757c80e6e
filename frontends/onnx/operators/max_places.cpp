// Indices of maxima in a pool's input, and MaxUnpool, which writes elements
// back to them.

#include "frontends/onnx/operators/max_places.h"

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/operators/operators.h"

#include "ir/build.h"

namespace gradus::onnx {

using namespace mlir;

/// The index along spatial axis `d` of the maximum of each window.
static Value placeAlong(const Building &b, Value inWindow, const Window &window,
                        int64_t d) {
  int64_t behind = llvm::product_of(window.size.drop_front(d + 1));
  Value at = inWindow;
  if (behind > 1)
    at = b.make<arith::DivSIOp>(at, b.number(behind, at));
  if (d > 0)
    at = b.make<arith::RemSIOp>(at, b.number(window.size[d], at));
  at = b.multiply(at, b.number(window.dilations[d], at));
  Value start = b.indicesAlong(tensorType(at).getShape(), d + 2);
  start = b.multiply(start, b.number(window.strides[d], at));
  start = b.subtract(start, b.number(window.padsBegin[d], at));
  return b.add(start, at);
}

Value placesOfMaxima(const Building &b, Value inWindow, const Window &window,
                     ArrayRef<int64_t> input, bool columnMajor) {
  inWindow = castTo(b, inWindow, b.builder.getI64Type());
  ArrayRef<int64_t> spatial = input.drop_front(2);
  ArrayRef<int64_t> shape = tensorType(inWindow).getShape();
  auto times = [&](Value value, int64_t factor) {
    return b.multiply(value, b.number(factor, value));
  };
  Value plane = b.add(times(b.indicesAlong(shape, 0), input[1]),
                      b.indicesAlong(shape, 1));
  Value total = times(plane, llvm::product_of(spatial));
  for (size_t d = 0; d < spatial.size(); ++d) {
    int64_t step = llvm::product_of(columnMajor ? spatial.take_front(d)
                                                : spatial.drop_front(d + 1));
    total = b.add(total, times(placeAlong(b, inWindow, window, d), step));
  }
  return total;
}

namespace {

//===-- MaxUnpool ---------------------------------------------------------===//

/// Refuses overlapping windows, which may share a maximum, but an index holds
/// only one element.
absl::Status judgeUnpool(const Node &node) {
  SmallVector<int64_t> size = node.integers("kernel_shape");
  SmallVector<int64_t> ones(size.size(), 1);
  SmallVector<int64_t> strides = node.integers("strides", ones);
  bool fits = strides.size() == size.size() && !size.empty();
  for (size_t d = 0; fits && d < size.size(); ++d)
    fits = size[d] >= 1 && strides[d] >= size[d] && strides[d] <= INT32_MAX;
  return fits
             ? absl::OkStatus()
             : node.error("windows of [", joined(size), "] with strides [",
                          joined(strides), "] overlap, which is not supported");
}

/// The shape of the pool's input, as far as the windows tell.
absl::StatusOr<SmallVector<int64_t>> shapeBefore(const Node &node,
                                                 ArrayRef<int64_t> pooled) {
  SmallVector<int64_t> size = node.integers("kernel_shape");
  SmallVector<int64_t> ones(size.size(), 1), none(2 * size.size(), 0);
  SmallVector<int64_t> strides = node.integers("strides", ones);
  SmallVector<int64_t> pads = node.integers("pads", none);
  bool fits = pooled.size() == size.size() + 2 && pads.size() == none.size() &&
              llvm::all_of(pads, [](int64_t count) {
                return count >= 0 && count <= INT32_MAX;
              });
  for (size_t d = 0; fits && d < size.size(); ++d)
    fits = isWithin(SmallVector<int64_t>{pooled[d + 2], strides[d]},
                    kMostElements);
  if (!fits)
    return node.error("an input of shape [", joined(pooled),
                      "] does not fit windows of [", joined(size),
                      "] with strides [", joined(strides), "] and pads [",
                      joined(pads), "]");
  SmallVector<int64_t> shape(pooled.take_front(2));
  for (size_t d = 0; d < size.size(); ++d)
    shape.push_back((pooled[d + 2] - 1) * strides[d] - pads[d] -
                    pads[d + size.size()] + size[d]);
  if (!isWithin(shape, kMostElements) || llvm::is_contained(shape, 0))
    return node.error("its result would have the impossible shape [",
                      joined(shape), "]");
  return shape;
}

/// Adds zeros at the end up to output_shape.
absl::StatusOr<Value> enlarged(const Building &b, Value value) {
  if (b.node.input(2).empty())
    return value;
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> wanted,
                          b.importer.integers(b.node, 2, "output_shape"));
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  SmallVector<int64_t> none(shape.size(), 0), high(none);
  bool fits = wanted.size() == shape.size() && isWithin(wanted, kMostElements);
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = (high[d] = wanted[d] - shape[d]) >= 0;
  if (!fits)
    return b.node.error("output_shape is [", joined(wanted),
                        "], expected at least [", joined(shape), "]");
  return b.make<PadOp>(tensorType(value).clone(wanted), value, none, high, none,
                       APFloat(0.0));
}

absl::Status maxUnpool(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value pooled, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value places, importer.value(node, 1));
  RankedTensorType type = tensorType(pooled);
  if (!Building::isFloat(pooled) || Building::isFloat(places) ||
      tensorType(places).getShape() != type.getShape())
    return node.error("expected floats and the place of each");
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> shape,
                          shapeBefore(node, type.getShape()));
  SmallVector<int64_t> count = {type.getNumElements()};
  Value flat = b.make<ScatterAddOp>(
      type.clone(ArrayRef<int64_t>{llvm::product_of(shape)}),
      b.shaped(pooled, count), b.shaped(places, count), /*axis=*/0,
      /*batch_dims=*/0);
  GRADUS_ASSIGN_OR_RETURN(Value result, enlarged(b, b.shaped(flat, shape)));
  return importer.define(node, 0, result);
}

const Operator kOperators[] = {
    {"MaxUnpool",
     {9, "X", "computed `output_shape`; overlapping windows", judgeUnpool},
     maxUnpool}};

} // namespace

llvm::ArrayRef<Operator> unpoolOperators() { return kOperators; }

} // namespace gradus::onnx
