// The reference evaluation of the ops that move, combine and describe elements.

#include "ir/evaluator/evaluator.h"
#include "ir/evaluator/row_major.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;

static Results single(HostTensor tensor) {
  return SmallVector<HostTensor>{std::move(tensor)};
}

//===-- moving elements ---------------------------------------------------===//

/// The elements of `input`, from the first on, in the order in which the result
/// has them: one position along dimension `d` of the result is `steps[d]`
/// elements of the input.
static HostTensor gather(const HostTensor &input, RankedTensorType type,
                         ArrayRef<int64_t> steps) {
  HostTensor result = zeros(type);
  int64_t to = 0;
  forEachOffset(type.getShape(), steps, 0, [&](int64_t from) {
    if (input.isFloat)
      result.floats[to++] = input.floats[from];
    else
      result.integers[to++] = input.integers[from];
  });
  return result;
}

Results ReshapeOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = operands[0];
  result.shape.assign(getType().getShape().begin(), getType().getShape().end());
  return single(std::move(result));
}

Results TransposeOp::evaluate(ArrayRef<HostTensor> operands) {
  SmallVector<int64_t> inInput = stepsOf(operands[0].shape), steps;
  for (int64_t dimension : getPermutation())
    steps.push_back(inInput[dimension]);
  return single(gather(operands[0], getType(), steps));
}

Results BroadcastOp::evaluate(ArrayRef<HostTensor> operands) {
  ArrayRef<int64_t> shape = operands[0].shape;
  SmallVector<int64_t> inInput = stepsOf(shape), steps(getType().getRank(), 0);
  for (auto [position, dimension] : llvm::enumerate(getDimensions()))
    steps[dimension] = shape[position] == 1 ? 0 : inInput[position];
  return single(gather(operands[0], getType(), steps));
}

Results IotaOp::evaluate(ArrayRef<HostTensor>) {
  HostTensor result = zeros(getType());
  int64_t to = 0;
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    result.integers[to++] = index[getAxis()];
  });
  return single(std::move(result));
}

//===-- reduce ------------------------------------------------------------===//

/// NaN counts as larger and smaller than everything, so that it is not lost.
template <typename Number>
static Number combine(Reduction kind, Number a, Number b) {
  if (kind == Reduction::max)
    return a > b || a != a ? a : b;
  if (kind == Reduction::min)
    return a < b || a != a ? a : b;
  return a + b;
}

/// The smallest and the largest number of an element type.
template <typename Number> static std::pair<Number, Number> range(Type type) {
  if constexpr (std::is_floating_point_v<Number>)
    return {-INFINITY, INFINITY};
  else if (type.isInteger(1))
    return {0, 1};
  else
    return {llvm::minIntN(type.getIntOrFloatBitWidth()),
            llvm::maxIntN(type.getIntOrFloatBitWidth())};
}

/// The neutral element: combined with it, a number stays as it is.
template <typename Number> static Number neutral(Reduction kind, Type element) {
  auto [least, most] = range<Number>(element);
  if (kind == Reduction::max)
    return least;
  return kind == Reduction::min ? most : 0;
}

template <typename Number>
static void reduceInto(ReduceOp op, const std::vector<Number> &from,
                       std::vector<Number> &to) {
  std::fill(to.begin(), to.end(),
            neutral<Number>(op.getKind(), getElementTypeOrSelf(op)));
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  SmallVector<int64_t> kept = stepsOf(op.getType().getShape()), steps;
  for (int64_t d = 0, next = 0; d < int64_t(shape.size()); ++d)
    steps.push_back(llvm::is_contained(op.getAxes(), d) ? 0 : kept[next++]);
  Reduction kind = op.getKind();
  int64_t next = 0;
  forEachOffset(shape, steps, 0, [&](int64_t at) {
    to[at] = combine(kind, to[at], from[next++]);
  });
}

Results ReduceOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &input = operands[0];
  HostTensor result = zeros(getType());
  if (input.isFloat)
    reduceInto(*this, input.floats, result.floats);
  else
    reduceInto(*this, input.integers, result.integers);
  if (getKind() == Reduction::mean)
    for (double &value : result.floats)
      value = value * result.size() / input.size();
  return single(std::move(result));
}

//===-- matmul ------------------------------------------------------------===//

Results MatmulOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &a = operands[0], &b = operands[1];
  HostTensor result = zeros(getType());
  int64_t rank = result.shape.size();
  int64_t rows = result.shape[rank - 2], columns = result.shape[rank - 1];
  int64_t inner = a.shape[rank - (getTransposeA() ? 2 : 1)];
  int64_t rowsOfA = getTransposeA() ? 1 : inner,
          innerOfA = getTransposeA() ? rows : 1,
          columnsOfB = getTransposeB() ? inner : 1,
          innerOfB = getTransposeB() ? 1 : columns;
  for (int64_t i = 0, end = columns ? result.size() / columns : 0; i < end;
       ++i) {
    int64_t batch = i / rows, row = i % rows;
    const double *ofA = a.floats.data() + batch * rows * inner + row * rowsOfA,
                 *ofB = b.floats.data() + batch * inner * columns;
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t column = 0; column < columns; ++column)
        result.floats[i * columns + column] +=
            ofA[k * innerOfA] * ofB[k * innerOfB + column * columnsOfB];
  }
  return single(std::move(result));
}

//===-- activations -------------------------------------------------------===//

template <typename Function>
static Results mapFloats(HostTensor tensor, Function function) {
  for (double &value : tensor.floats)
    value = function(value);
  return single(std::move(tensor));
}

Results ReluOp::evaluate(ArrayRef<HostTensor> operands) {
  return mapFloats(operands[0], [](double x) { return x < 0 ? 0 : x; });
}

Results SigmoidOp::evaluate(ArrayRef<HostTensor> operands) {
  return mapFloats(operands[0],
                   [](double x) { return 1 / (1 + std::exp(-x)); });
}

Results GeluOp::evaluate(ArrayRef<HostTensor> operands) {
  if (getTanh())
    return mapFloats(operands[0], [](double x) {
      double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(u));
    });
  return mapFloats(operands[0], [](double x) {
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2)));
  });
}
