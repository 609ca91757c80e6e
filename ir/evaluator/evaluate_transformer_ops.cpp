// The reference evaluation of softmax and layer normalization.

#include "ir/evaluator/evaluator.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

/// Turns the numbers of a row, at offsets `base`, `base + step`, ..., into
/// probabilities or their logarithms.
static void normalizeRow(std::vector<double> &numbers, int64_t base,
                         int64_t step, int64_t count, bool log) {
  double largest = -INFINITY, total = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::fmax(largest, numbers[base + i * step]);
  for (int64_t i = 0; i < count; ++i)
    total += std::exp(numbers[base + i * step] - largest);
  for (int64_t i = 0; i < count; ++i) {
    double &number = numbers[base + i * step];
    number = log ? number - largest - std::log(total)
                 : std::exp(number - largest) / total;
  }
}

Results SoftmaxOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = operands[0];
  int64_t count = result.shape[getAxis()], step = 1;
  for (int64_t size : llvm::drop_begin(result.shape, getAxis() + 1))
    step *= size;
  for (int64_t base = 0; base < result.size(); ++base)
    if (base / step % count == 0)
      normalizeRow(result.floats, base, step, count, getLog());
  return SmallVector<HostTensor>{std::move(result)};
}

Results LayerNormOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = operands[0];
  const HostTensor &scale = operands[1];
  int64_t width = scale.size();
  for (int64_t row = 0; row < result.size(); row += width) {
    double *x = &result.floats[row], mean = 0, squares = 0;
    for (int64_t i = 0; i < width; ++i)
      mean += getRms() ? 0 : x[i] / width;
    for (int64_t i = 0; i < width; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    double deviation =
        std::sqrt(squares / width + getEpsilon().convertToDouble());
    for (int64_t i = 0; i < width; ++i)
      x[i] = (x[i] - mean) / deviation * scale.floats[i] +
             (operands.size() > 2 ? operands[2].floats[i] : 0);
  }
  return SmallVector<HostTensor>{std::move(result)};
}
