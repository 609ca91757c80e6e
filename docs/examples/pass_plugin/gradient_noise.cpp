// Gradient noise: adds normal noise to every gradient, less and less of it.
//
// At step t its variance is scale / (1 + t)^decay. Neelakantan et al., "Adding
// Gradient Noise Improves Learning for Very Deep Networks"
// (https://arxiv.org/abs/1511.06807).

#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "passes/pass_plugin.h"
#include "passes/state.h"
#include "recipe/run_settings.h"

#include "llvm/Support/DJB.h"

#include <cmath>

namespace {
using namespace mlir;
using namespace gradus;

struct NoiseSettings {
  double scale = 0, decay = 0;
};

recipe::Field noiseKey() {
  using enum recipe::Kind;
  using recipe::Field;
  const recipe::Keys<NoiseSettings> keys = {
      Field{"scale", number, "0.01", "variance at step 0"}.from(0).into(
          &NoiseSettings::scale),
      Field{"decay", number, "0.55", "how fast it shrinks"}.into(
          &NoiseSettings::decay)};
  return Field{"gradient_noise", object, "null", "adds noise to gradients"}
      .of(keys)
      .switched()
      .flagged();
}

struct GradientNoise : PassWrapper<GradientNoise, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GradientNoise)
  StringRef getArgument() const override { return "gradient-noise"; }

  /// The recipe's key that switches it on, and the stage that it then ends.
  static const PluginMethod<NoiseSettings> &method() {
    static const PluginMethod<NoiseSettings> method{noiseKey(), "methods"};
    return method;
  }

  void runOnOperation() override {
    auto settings = method().of(getOperation());
    if (!settings)
      return;
    WalkResult walked =
        getOperation().walk([&](ParameterUpdate update) -> WalkResult {
          return disturb(update, settings->scale, settings->decay);
        });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

  /// gradient + sqrt(scale) * (1 + t)^(-decay / 2) * noise
  LogicalResult disturb(ParameterUpdate update, double scale, double decay) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    FailureOr<Clock> clock = readClock(builder, math.loc, getOperation());
    if (failed(clock))
      return failure();
    Value t = clock->number; // of the update, from 1; a scalar of f64
    Value deviation = math.multiply(math.number(std::sqrt(scale), t),
                                    math.power(t, math.number(-decay / 2, t)));
    OpOperand &gradient = update.getGradientUse();
    RankedTensorType type = tensorType(gradient.get());
    deviation = convert(builder, math.loc, deviation, type.getElementType());
    deviation = broadcastScalar(builder, math.loc, deviation, type.getShape());
    Value noise = normal(math, type, update.getParameterName());
    gradient.set(math.add(gradient.get(), math.multiply(deviation, noise)));
    return success();
  }

  /// By Box and Muller, of two draws in (0, 1].
  Value normal(const Arithmetic &math, RankedTensorType type, StringRef name) {
    Value radius = draw(math, type, "radius " + name.str());
    Value angle = draw(math, type, "angle " + name.str());
    radius = math.multiply(math.number(-2, radius), math.logarithm(radius));
    angle = math.multiply(math.number(2 * M_PI, angle), angle);
    return math.multiply(math.squareRoot(radius), math.cosine(angle));
  }

  /// A function of seed, step, name and place: a resumed run draws the same.
  Value draw(const Arithmetic &math, RankedTensorType type, StringRef name) {
    OpBuilder &builder = math.builder;
    auto counter = RankedTensorType::get({}, builder.getI64Type());
    Value step = readState(builder, math.loc, "step", counter);
    Value bits = RandomBitsOp::create(
        builder, math.loc, type.clone(builder.getI64Type()), step,
        /*stream=*/llvm::djbHash(name), runSettings(getOperation()).seed);
    Value number = convert(builder, math.loc, bits, type.getElementType());
    number = math.add(number, math.number(1, number));
    return math.multiply(math.number(0x1p-32, number), number);
  }
};

} // namespace

GRADUS_PASS_PLUGIN(GradientNoise)
