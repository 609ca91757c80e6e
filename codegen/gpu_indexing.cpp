// An index is checked before it becomes an address, as on a CPU.

#include "codegen/gpu_indexing.h"

#include "codegen/gpu_region.h"
#include "ir/gather_sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Is = arith::CmpIPredicate;

static ArrayRef<int64_t> shapeOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

static Type elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

/// The table is what is read by takes and written by sums.
static GatherSizes sizesOf(Operation *op) {
  if (auto take = dyn_cast<plan::TakeOp>(op))
    return {shapeOf(take.getSource()), shapeOf(take.getIndices()),
            int64_t(take.getAxis()), int64_t(take.getBatchDims())};
  auto add = cast<plan::AddAtOp>(op);
  return {shapeOf(add.getOut()), shapeOf(add.getIndices()),
          int64_t(add.getAxis()), int64_t(add.getBatchDims())};
}

int64_t gradus::indexedPoints(Operation *op) {
  GatherSizes sizes = sizesOf(op);
  int64_t slices = isa<plan::TakeOp>(op) ? sizes.count : sizes.extent;
  return sizes.batch * sizes.outer * slices * sizes.inner;
}

namespace {

class IndexedEmitter {
public:
  IndexedEmitter(GpuBuilder &b, Operation *op, GpuBuffer source,
                 GpuBuffer indices, GpuBuffer out)
      : b(b), op(op), sizes(sizesOf(op)), source(source), indices(indices),
        out(out), element(elementOf(op->getOperand(0))) {}

  void take(Value point);
  void addAt(Value point);

private:
  Value placeOf(Value row, Value n);
  Value isEqual(Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(Is::eq, x, y);
  }
  Value outside();
  Value sum(Value x, Value y);

  GpuBuilder &b;
  Operation *op;
  GatherSizes sizes;
  GpuBuffer source, indices, out;
  Type element;
};

} // namespace

/// The place along the axis that index n of a row means, counted from its
/// front; anything outside stays outside.
Value IndexedEmitter::placeOf(Value row, Value n) {
  Value batch = b.quotient(row, sizes.outer);
  Value index = loadGpuElement(b, indices, elementOf(op->getOperand(1)),
                               b.add(b.mul(batch, sizes.count), n));
  index = b.createOrFold<arith::IndexCastOp>(b.getIndexType(), index);
  Value fromEnd = b.add(index, b.number(sizes.extent));
  return b.createOrFold<arith::SelectOp>(b.isBelow(index, b.number(0)), fromEnd,
                                         index);
}

/// What stands where an index lies outside: NaN, or 0.
Value IndexedEmitter::outside() {
  Type type = gpuValueType(element);
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        b,
        b.getFloatAttr(real, llvm::APFloat::getNaN(real.getFloatSemantics())));
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

void IndexedEmitter::take(Value point) {
  Values at = b.positionsOf(
      point, {sizes.batch * sizes.outer, sizes.count, sizes.inner});
  Value place = placeOf(at[0], at[1]);
  Value isInside =
      b.createOrFold<arith::CmpIOp>(Is::ult, place, b.number(sizes.extent));
  Value value = b.choose(
      isInside,
      [&] {
        Value slice = b.add(b.mul(at[0], sizes.extent), place);
        return loadGpuElement(b, source, element,
                              b.add(b.mul(slice, sizes.inner), at[2]));
      },
      outside());
  storeGpuElement(b, out, element, point, value);
}

Value IndexedEmitter::sum(Value x, Value y) {
  return isa<FloatType>(x.getType()) ? b.createOrFold<arith::AddFOp>(x, y)
                                     : b.createOrFold<arith::AddIOp>(x, y);
}

/// Goes through all indices for the one element. Narrow floats add up in f32.
void IndexedEmitter::addAt(Value point) {
  Values at = b.positionsOf(
      point, {sizes.batch * sizes.outer, sizes.extent, sizes.inner});
  Type type = gpuValueType(element);
  Value zero = arith::ConstantOp::create(
      b, b.getZeroAttr(isNarrowGpuFloat(type) ? b.getF32Type() : type));
  Values total = b.loop(
      b.number(0), b.number(sizes.count), b.number(1), {zero},
      [&](Value n, ValueRange totals) -> Values {
        auto add = [&] {
          Value slice = b.add(b.mul(at[0], sizes.count), n);
          Value value = loadGpuElement(b, source, element,
                                       b.add(b.mul(slice, sizes.inner), at[2]));
          return sum(totals[0], widenGpuFloat(b, value));
        };
        return {b.choose(isEqual(placeOf(at[0], n), at[1]), add, totals[0])};
      });
  storeGpuElement(b, out, element, point, narrowGpuFloat(b, total[0], type));
}

void gradus::emitIndexed(GpuBuilder &b, Operation *op, Value point,
                         function_ref<GpuBuffer(Value)> bufferOf) {
  IndexedEmitter emitter(b, op, bufferOf(op->getOperand(0)),
                         bufferOf(op->getOperand(1)),
                         bufferOf(op->getOperand(2)));
  isa<plan::TakeOp>(op) ? emitter.take(point) : emitter.addAt(point);
}
