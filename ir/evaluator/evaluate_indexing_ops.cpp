// The reference evaluation of the ops that slice, join and gather.

#include "ir/evaluator/evaluator.h"
#include "ir/evaluator/row_major.h"
#include "ir/gather_sizes.h"

#include <limits>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

static Results single(HostTensor tensor) {
  return SmallVector<HostTensor>{std::move(tensor)};
}

static void copyElement(const HostTensor &from, int64_t source, HostTensor &to,
                        int64_t target) {
  if (from.isFloat)
    to.floats[target] = from.floats[source];
  else
    to.integers[target] = from.integers[source];
}

Results SliceOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  SmallVector<int64_t> steps = stepsOf(operands[0].shape);
  int64_t first = 0, to = 0;
  for (auto [step, start, stride] : llvm::zip(steps, getStarts(), getSteps())) {
    first += start * step;
    step *= stride;
  }
  forEachOffset(result.shape, steps, first, [&](int64_t from) {
    copyElement(operands[0], from, result, to++);
  });
  return single(std::move(result));
}

Results PadOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  double value = getValue().convertToDouble();
  if (result.isFloat)
    std::fill(result.floats.begin(), result.floats.end(), value);
  else
    std::fill(result.integers.begin(), result.integers.end(), int64_t(value));
  SmallVector<int64_t> steps = stepsOf(result.shape);
  int64_t first = 0, from = 0;
  for (auto [step, low, interior] : llvm::zip(steps, getLow(), getInterior())) {
    first += low * step;
    step *= interior + 1;
  }
  forEachOffset(operands[0].shape, steps, first, [&](int64_t to) {
    copyElement(operands[0], from++, result, to);
  });
  return single(std::move(result));
}

Results ConcatenateOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  SmallVector<int64_t> steps = stepsOf(result.shape);
  int64_t start = 0;
  for (const HostTensor &part : operands) {
    int64_t from = 0;
    forEachOffset(part.shape, steps, start,
                  [&](int64_t to) { copyElement(part, from++, result, to); });
    start += part.shape[getAxis()] * steps[getAxis()];
  }
  return single(std::move(result));
}

/// Calls `visit(inTable, inTaken)` with the offsets of each gathered element;
/// `inTable` is -1 where the index is out of range.
static void forEachTaken(const GatherSizes &sizes, const HostTensor &indices,
                         llvm::function_ref<void(int64_t, int64_t)> visit) {
  int64_t taken = 0;
  for (int64_t row = 0; row < sizes.batch * sizes.outer; ++row)
    for (int64_t n = 0; n < sizes.count; ++n) {
      int64_t index = indices.integers[row / sizes.outer * sizes.count + n];
      int64_t place = sizes.placeOf(index);
      for (int64_t i = 0; i < sizes.inner; ++i)
        visit(place < 0 ? -1 : (row * sizes.extent + place) * sizes.inner + i,
              taken++);
    }
}

Results GatherOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  std::fill(result.floats.begin(), result.floats.end(),
            std::numeric_limits<double>::quiet_NaN());
  GatherSizes sizes(operands[0].shape, operands[1].shape, getAxis(),
                    getBatchDims());
  forEachTaken(sizes, operands[1], [&](int64_t inTable, int64_t inTaken) {
    if (inTable >= 0)
      copyElement(operands[0], inTable, result, inTaken);
  });
  return single(std::move(result));
}

Results ScatterAddOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  GatherSizes sizes(result.shape, operands[1].shape, getAxis(), getBatchDims());
  forEachTaken(sizes, operands[1], [&](int64_t inTable, int64_t inTaken) {
    if (inTable >= 0 && result.isFloat)
      result.floats[inTable] += operands[0].floats[inTaken];
    else if (inTable >= 0)
      result.integers[inTable] += operands[0].integers[inTaken];
  });
  return single(std::move(result));
}
