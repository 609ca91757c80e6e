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
// and what is in the parentheses are rounded so (`iterates_in`). What is no
// matrix, and embeddings and heads, another optimizer moves.

#include "passes/optimizers/adam.h"
#include "passes/optimizers/sgd.h"
#include "recipe/patterns.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

namespace {

enum class Precision { bf16, parameter };
enum class Adjust { original, matchRmsAdamw };

struct MuonSettings {
  recipe::Number momentum, epsilon;
  bool nesterov = true;
  std::array<double, 3> coefficients;
  int64_t iterations = 0;
  Precision precision = Precision::bf16;
  Adjust adjust = Adjust::original;
};

/// The parameters that muon leaves to another optimizer.
struct Rest {
  std::vector<std::string> match;
  recipe::Value optimizer;
};

/// Times a number.
Value times(const Arithmetic &math, double number, Value value) {
  return math.multiply(math.number(number, value), value);
}

/// Rounded to bf16 where the iterations are in it.
Value rounded(const ParameterStep &step, const MuonSettings &settings,
              Value value) {
  const Arithmetic &math = step.math;
  if (settings.precision == Precision::parameter)
    return value;
  Value narrow =
      convert(math.builder, math.loc, value, math.builder.getBF16Type());
  return convert(math.builder, math.loc, narrow,
                 tensorType(value).getElementType());
}

/// All singular values of about 1; `x` has no more rows than columns.
Value orthogonal(ParameterStep &step, const MuonSettings &settings, Value x) {
  const Arithmetic &math = step.math;
  OpBuilder &builder = math.builder;
  auto round = [&](Value value) { return rounded(step, settings, value); };
  x = round(x);
  Value norm = round(math.norm(x));
  norm = math.larger(norm, step.spread(step.plain(settings.epsilon), norm));
  x = round(math.divide(
      x, broadcastScalar(builder, math.loc, norm, tensorType(x).getShape())));
  auto [a, b, c] = settings.coefficients;
  for (int64_t i = 0; i < settings.iterations; ++i) {
    Value gram = round(matmul(builder, math.loc, x, x, false, true));
    Value square = matmul(builder, math.loc, gram, gram);
    Value update =
        round(math.add(times(math, b, gram), times(math, c, square)));
    x = round(
        math.add(times(math, a, x), matmul(builder, math.loc, update, x)));
  }
  return x;
}

double adjustment(Adjust adjust, double rows, double columns) {
  if (adjust == Adjust::matchRmsAdamw)
    return 0.2 * std::sqrt(std::max(rows, columns));
  return std::sqrt(std::max(1.0, rows / columns));
}

LogicalResult move(ParameterStep &step, const MuonSettings &settings) {
  const Arithmetic &math = step.math;
  Value rate = step.number(settings.momentum);
  Value momentum =
      step.approach(rate, step.readSlot("momentum"), step.gradient);
  step.writeSlot("momentum", momentum);
  if (settings.nesterov)
    momentum = step.approach(step.rest(rate), step.gradient, momentum);
  int64_t rows = tensorType(momentum).getDimSize(0);
  int64_t columns = tensorType(momentum).getDimSize(1);
  bool tall = rows > columns;
  auto transposed = [&](Value value) {
    return tall ? transpose(math.builder, math.loc, value, {1, 0}) : value;
  };
  Value direction =
      transposed(orthogonal(step, settings, transposed(momentum)));
  step.decay();
  step.learningRate =
      math.multiply(step.learningRate,
                    step.scalar(adjustment(settings.adjust, rows, columns)));
  step.descend(direction);
  return success();
}

/// The optimizer of what is no matrix, and of embeddings and heads.
std::optional<recipe::Value> leaves(const recipe::Value &own,
                                    StateOp parameter) {
  auto rest = own.as<Rest>();
  int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
  if (rank == 2 && !NamePatterns(rest.match).match(parameter.getSymName()))
    return std::nullopt;
  return rest.optimizer;
}

/// `own` without what `leaves` reads.
recipe::Fields keysOfMatrices() {
  using S = MuonSettings;
  using enum recipe::Kind;
  recipe::Field iterations = {"iterations", integer, "5", "how often it runs"};
  recipe::Field precision = {"iterates_in", choice, "\"bf16\"",
                             "precision of the iteration"};
  recipe::Field adjust = {"adjust", choice, "\"original\"",
                          "how the learning rate depends on a matrix's shape"};
  return {learningRate("0.001"),
          weightDecay("0.1"),
          momentum("0.95").into(&S::momentum),
          nesterov("true").into(&S::nesterov),
          numbers("coefficients", "[3.4445, -4.775, 2.0315]",
                  "of the iteration that makes steps orthogonal", 3)
              .into(&S::coefficients),
          iterations.from(1).below(101).into(&S::iterations),
          precision.among({{"bf16"}, {"parameter"}})
              .under({"mindspore", "singa", "timm"}, "\"parameter\"")
              .into(&S::precision),
          epsilon("1e-7").into(&S::epsilon),
          adjust.among({{"original"}, {"match_rms_adamw"}}).into(&S::adjust)};
}

} // namespace

Optimizer gradus::muon() {
  recipe::Field others = {"others", recipe::Kind::variant,
                          R"({"type": "adamw"})",
                          "moves what is no matrix, and embeddings and heads"};
  recipe::Fields rest = {
      recipe::patterns(
          "others_match",
          R"(["*embed*", "*wte*", "*wpe*", "*head*", "*classifier*"])",
          "matrices that `others` moves")
          .into(&Rest::match),
      others.among({{"adamw", adamw().keys}, {"sgd", sgd().keys}})
          .into(&Rest::optimizer)};
  Optimizer made =
      optimizer<MuonSettings>("muon", keysOfMatrices() + rest, move);
  made.couplesDecay = false;
  made.preconditions = true;
  made.leaves = leaves;
  return made;
}
