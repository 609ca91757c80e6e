// muon: momentum made orthogonal by a few Newton-Schulz iterations, for
// matrices, as torch.optim.Muon. Jordan et al.,
// https://kellerjordan.github.io/posts/muon/.
//
//   m = momentum * m + (1 - momentum) * g
//   x = m (nesterov: momentum * m + (1 - momentum) * g), wide, over its norm
//   x = a * x + (b * y + c * y * y) * x with y = x * x^T, several times
//   w = w * (1 - learning_rate * weight_decay) - learning_rate * s * x
//
// with s = sqrt(max(1, rows / columns)), or 0.2 * sqrt(max(rows, columns)) for
// `"adjust": "match_rms_adamw"`. PyTorch iterates in bf16, sums in f32: x, y
// and what is in the parentheses are rounded so. Other frameworks' rules keep
// the parameter's precision.

#include "passes/optimizers/optimizer.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

/// Times a number.
static Value times(const Arithmetic &math, double number, Value value) {
  return math.multiply(math.number(number, value), value);
}

/// Rounded to bf16 where the iterations are in it.
static Value rounded(const ParameterStep &step, Value value) {
  const Arithmetic &math = step.math;
  if (!step.settings.follows("pytorch"))
    return value;
  Value narrow =
      convert(math.builder, math.loc, value, math.builder.getBF16Type());
  return convert(math.builder, math.loc, narrow,
                 tensorType(value).getElementType());
}

/// All singular values of about 1; `x` has no more rows than columns.
static Value orthogonal(const ParameterStep &step, Value x,
                        ArrayRef<double> coefficients) {
  const Arithmetic &math = step.math;
  OpBuilder &builder = math.builder;
  x = rounded(step, x);
  Value norm = rounded(step, math.norm(x));
  norm = math.larger(norm,
                     math.number(step.settings.number("epsilon", 1e-7), norm));
  x = rounded(step, math.divide(x, broadcastScalar(builder, math.loc, norm,
                                                   tensorType(x).getShape())));
  for (int i = 0; i < step.settings.number("iterations", 5); ++i) {
    Value gram = rounded(step, matmul(builder, math.loc, x, x, false, true));
    Value square = matmul(builder, math.loc, gram, gram);
    Value update =
        rounded(step, math.add(times(math, coefficients[1], gram),
                               times(math, coefficients[2], square)));
    x = rounded(step, math.add(times(math, coefficients[0], x),
                               matmul(builder, math.loc, update, x)));
  }
  return x;
}

static double adjustment(const ParameterStep &step, double rows,
                         double columns) {
  std::string kind = step.settings.text("adjust", "original");
  if (kind == "match_rms_adamw")
    return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(std::max(1.0, rows / columns));
}

LogicalResult gradus::muon(ParameterStep &step) {
  const Arithmetic &math = step.math;
  auto coefficients =
      step.settings.numbers("coefficients", {3.4445, -4.775, 2.0315});
  if (coefficients.size() != 3)
    return step.settings.error("coefficients")
           << "has " << coefficients.size() << " numbers, expected 3";
  if (int64_t rank = tensorType(step.parameter).getRank(); rank != 2)
    return step.settings.error("type")
           << "is \"muon\", which moves matrices alone, but the parameter \""
           << step.name << "\" has rank " << rank;
  Value rate = step.number("momentum", 0.95);
  Value momentum =
      step.approach(rate, step.readSlot("momentum"), step.gradient);
  step.writeSlot("momentum", momentum);
  if (step.settings.flag("nesterov", true))
    momentum = step.approach(step.rest(rate), step.gradient, momentum);
  int64_t rows = tensorType(momentum).getDimSize(0);
  int64_t columns = tensorType(momentum).getDimSize(1);
  bool tall = rows > columns;
  auto turned = [&](Value value) {
    return tall ? transpose(math.builder, math.loc, value, {1, 0}) : value;
  };
  Value direction = turned(orthogonal(step, turned(momentum), coefficients));
  step.decay(0.1);
  step.learningRate = math.multiply(
      step.learningRate, step.scalar(adjustment(step, rows, columns)));
  step.descend(direction);
  return success();
}
