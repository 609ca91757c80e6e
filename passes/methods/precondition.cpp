// Multiplies the gradients of layers by the inverse of their curvature.
//
// With the factors A of a layer's inputs and G of its outputs' gradients
// (gradus.factors), damped and inverted block by block, a weight's gradient g
// becomes G^-1 g A^-1: THOR (Chen et al., "THOR, Trace-based Hardware-adaptive
// layer-ORiented Natural Gradient Descent Computation", AAAI 2021) and K-FAC
// (Martens and Grosse, https://arxiv.org/abs/1503.05671). A step that measures
// nothing reads the inverses that an earlier one wrote. All methods behind this
// one see a direction where they would see a gradient.

#include "passes/clock.h"
#include "passes/methods/factor_means.h"
#include "passes/methods/pass_option.h"
#include "passes/methods/update_samples.h"
#include "passes/methods/weight_blocks.h"
#include "passes/numbers.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/schedules.h"
#include "passes/passes.h"
#include "passes/preconditioning.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace gradus {
#define GEN_PASS_DEF_PRECONDITION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kInputs = "inputs", kOutputs = "outputs";
constexpr StringLiteral kKept = "precondition/kept";
/// The damping where its schedule says less.
constexpr double kLeastDamping = 1e-20;

std::string inverseOf(StringRef side, StringRef parameter) {
  return ("precondition/" + side + "/" + parameter).str();
}
std::string averageOf(StringRef side, StringRef parameter) {
  return ("precondition/mean_" + side + "/" + parameter).str();
}
std::string measuredOf(StringRef parameter) {
  return ("precondition/measured/" + parameter).str();
}

/// A weight with the forms of its factors, which all graphs share.
struct Layer {
  std::string name;
  std::string bias; // that joins the weight; empty: none does
  WeightMatrix matrix;
  RankedTensorType inputs, outputs; // null: the side is left alone
  int64_t positions;

  bool isEmbedding() const { return inputs && inputs.getRank() == 1; }
  Blocks inputBlocks() const {
    return Blocks::of(inputs, matrix.inputs(), matrix.groups());
  }
  Blocks outputBlocks() const {
    return Blocks::of(outputs, matrix.outputs(), matrix.groups());
  }
};

/// The updates of a layer in a graph; one is null where the graph leaves the
/// parameter as it is.
struct LayerUpdates {
  ParameterUpdate weight, bias;
};

/// Something of both sides of a layer, null where a side is left alone: its
/// factors, or their inverses.
struct Sides {
  Value inputs, outputs;
};
using Inverses = Sides;

/// The values that a step's layers share.
struct Shared {
  Value root;                  // of the damping, a scalar of f32
  Value rate;                  // of learning, where `kl_clip` bounds the step
  SmallVector<Value> kept;     // how many blocks of each keep their inverse
  SmallVector<Value> products; // of gradients and directions
};

struct PreconditionPass : impl::PreconditionBase<PreconditionPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!at.empty() &&
        failed(verifyOption(getOperation(), getArgument(), "at", at,
                            {"before_clip", "after_weight_decay"})))
      return signalPassFailure();
    auto wanted = preconditioning().of(getOperation());
    if (!wanted || !isItsTurn(wanted->placement))
      return;
    settings = *wanted;
    areCounted = false;
    findLayers();
    for (GraphOp train : trainGraphs(getOperation()))
      if (failed(visit(train)))
        return signalPassFailure();
  }

private:
  using Kind = PreconditionSettings::Kind;

  /// The pass stands at two places of the pipeline, and works at one.
  bool isItsTurn(PreconditionSettings::Placement placement) const {
    bool isLast =
        placement == PreconditionSettings::Placement::afterWeightDecay;
    return at.empty() || at == (isLast ? "after_weight_decay" : "before_clip");
  }

  void findLayers() {
    layers.clear();
    weightOfBias.clear();
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (auto factors : graph.getBody().front().getOps<FactorsOp>())
        layers.insert({factors.getParameter(), layerOf(factors)});
    for (const auto &[name, layer] : layers)
      if (!layer.bias.empty())
        weightOfBias[layer.bias] = name;
  }

  Layer layerOf(FactorsOp factors) {
    auto type = [](Value side) {
      return side ? tensorType(side) : RankedTensorType();
    };
    auto bias = factors->getAttrOfType<StringAttr>(kJoined);
    return {factors.getParameter().str(), bias ? bias.str() : "",
            WeightMatrix(factors),        type(factors.getInputs()),
            type(factors.getOutputs()),   int64_t(factors.getPositions())};
  }

  LogicalResult visit(GraphOp train) {
    Block &block = train.getBody().front();
    auto range = block.getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    llvm::StringMap<FactorsOp> measured;
    for (auto factors : block.getOps<FactorsOp>())
      measured[factors.getParameter()] = factors;
    llvm::StringMap<ParameterUpdate> byName;
    for (ParameterUpdate update : updates) {
      update->moveBefore(block.getTerminator());
      byName[update.getParameterName()] = update;
    }
    if (updates.empty())
      return success();
    OpBuilder builder(updates.front());
    FailureOr<Shared> shared = readShared(builder, train);
    if (failed(shared))
      return failure();
    States states(getOperation());
    for (ParameterUpdate update : updates) {
      if (update->hasAttr(kPreconditioned))
        continue;
      FactorsOp factors = measured.lookup(update.getParameterName());
      if (failed(visit(update, byName, factors, *shared, states)))
        return failure();
    }
    for (auto &[name, factors] : measured)
      factors.erase();
    if (settings.klClip && failed(clip(train, updates, *shared)))
      return failure();
    builder.setInsertionPoint(block.getTerminator());
    return count(builder, train, *shared);
  }

  LogicalResult visit(ParameterUpdate update,
                      const llvm::StringMap<ParameterUpdate> &updates,
                      FactorsOp factors, Shared &shared, States &states) {
    StringRef name = update.getParameterName();
    if (auto found = layers.find(name); found != layers.end()) {
      const Layer &layer = found->second;
      ParameterUpdate bias = updates.lookup(layer.bias);
      if (bias) // It uses what is made for the weight.
        bias->moveAfter(update);
      return ofLayer(layer, {update, bias}, factors, shared, states);
    }
    if (auto weight = weightOfBias.find(name); weight != weightOfBias.end()) {
      if (updates.contains(weight->second)) // which brings it along
        return success();
      return ofLayer(layers.find(weight->second)->second, {{}, update}, factors,
                     shared, states);
    }
    if (!settings.has(Kind::layerNorm) || !isOfLayerNorm(update))
      return success();
    OpBuilder builder(update);
    FailureOr<Value> direction = ofLayerNorm(
        Arithmetic(builder, update.getLoc()), update.getGradientUse().get(),
        update->getParentOfType<GraphOp>(), shared);
    if (failed(direction))
      return failure();
    replace(builder, update, *direction, shared);
    report(update, "is divided by its own curvature");
    return success();
  }

  /// Gives an update its direction in place of its gradient.
  void replace(OpBuilder &builder, ParameterUpdate update, Value direction,
               Shared &shared) {
    OpOperand &gradient = update.getGradientUse();
    if (settings.klClip)
      shared.products.push_back(product(builder, gradient.get(), direction));
    gradient.set(direction);
    update->setAttr(kPreconditioned, builder.getUnitAttr());
  }

  //===-- numbers ---------------------------------------------------------===//

  FailureOr<Shared> readShared(OpBuilder &builder, GraphOp train) {
    Location loc = train.getLoc();
    Arithmetic math(builder, loc);
    auto clock = readClock(builder, loc, getOperation());
    if (failed(clock))
      return failure();
    auto schedules = Schedules::read(math, getOperation(), clock->step);
    if (failed(schedules))
      return failure();
    Value damping = readNumber(builder, loc, getOperation(), settings.damping);
    if (!damping)
      return failure();
    if (Value factor = schedules->factorOf("damping"))
      damping = math.multiply(factor, damping);
    damping = math.larger(damping, math.number(kLeastDamping, damping));
    Shared shared;
    shared.root =
        convert(builder, loc, math.squareRoot(damping), builder.getF32Type());
    if (settings.klClip && !(shared.rate = learningRate(
                                 math, schedules->factorOf("learning_rate"))))
      return failure();
    return shared;
  }

  /// The learning rate of the recipe's optimizer, as a scalar of f32.
  Value learningRate(const Arithmetic &math, Value factor) {
    auto optimizer = optimizerOfRecipe(getOperation()).as<OptimizerSettings>();
    Value rate = readNumber(math.builder, math.loc, getOperation(),
                            optimizer.learningRate);
    if (rate && factor)
      rate = math.multiply(factor, rate);
    return rate ? convert(math.builder, math.loc, rate,
                          math.builder.getF32Type())
                : rate;
  }

  /// Counts the blocks that kept an inverse.
  LogicalResult count(OpBuilder &builder, GraphOp train, const Shared &shared) {
    Arithmetic math(builder, train.getLoc());
    auto type = RankedTensorType::get({}, builder.getI64Type());
    auto advance = [&](StringRef name, Value by) {
      Value old = readState(builder, train.getLoc(), name, type);
      writeState(builder, train.getLoc(), name, math.add(old, by));
    };
    if (shared.kept.empty())
      return success();
    if (failed(ensureState(getOperation(), kKept, type, Role::counter)))
      return failure();
    Value kept = shared.kept.front();
    for (Value each : ArrayRef<Value>(shared.kept).drop_front())
      kept = math.add(kept, each);
    advance(kKept, kept);
    return success();
  }

  //===-- the length of a step --------------------------------------------===//

  /// The sum of the products of all elements, as a scalar of f32.
  static Value product(OpBuilder &builder, Value gradient, Value direction) {
    Arithmetic math(builder, gradient.getLoc());
    auto wide = [&](Value value) {
      return convert(builder, math.loc, value, builder.getF32Type());
    };
    Value products = math.multiply(wide(gradient), wide(direction));
    return sum(builder, math.loc, products,
               allAxes(tensorType(products).getRank()));
  }

  /// Scales the directions so that the Kullback-Leibler divergence of the step,
  /// rate^2 times the product of gradients and directions, is at most
  /// `kl_clip` (Martens and Grosse, section 6.6; Ba et al.,
  /// https://openreview.net/forum?id=SkkTMpjex).
  LogicalResult clip(GraphOp train, ArrayRef<ParameterUpdate> updates,
                     const Shared &shared) {
    if (shared.products.empty())
      return success();
    for (ParameterUpdate update : updates)
      update->moveBefore(train.getBody().front().getTerminator());
    OpBuilder builder(updates.front());
    Arithmetic math(builder, train.getLoc());
    Value total = shared.products.front();
    for (Value each : ArrayRef<Value>(shared.products).drop_front())
      total = math.add(total, each);
    Value length = math.multiply(math.multiply(shared.rate, shared.rate),
                                 math.absolute(total));
    Value ratio = math.divide(math.number(*settings.klClip, length),
                              math.larger(length, math.number(1e-30, length)));
    Value factor = math.smaller(math.squareRoot(ratio), math.number(1, ratio));
    for (ParameterUpdate update : updates)
      if (update->hasAttr(kPreconditioned)) {
        Value direction = update.getGradientUse().get();
        update.getGradientUse().set(
            math.multiply(direction, spreadLike(math, factor, direction)));
      }
    return success();
  }

  //===-- layers ----------------------------------------------------------===//

  LogicalResult ofLayer(const Layer &layer, LayerUpdates updates,
                        FactorsOp factors, Shared &shared, States &states) {
    ParameterUpdate first = updates.weight ? updates.weight : updates.bias;
    OpBuilder builder(first);
    Arithmetic math(builder, first.getLoc());
    FailureOr<Inverses> found =
        factors ? refresh(math, layer, factors, shared, states)
                : read(math, layer, states);
    if (failed(found))
      return failure();
    Value matrix =
        layer.matrix.ofWeight(math, wideGradient(math, updates.weight),
                              wideGradient(math, updates.bias));
    bool isInputs = layer.matrix.rowsAreInputs(); // of the rows
    matrix = timesInverse(math, layer, isInputs, matrix, *found);
    matrix = timesInverse(math, layer, !isInputs, matrix, *found);
    put(math, layer, matrix, updates, shared);
    return success();
  }

  LogicalResult ensure(States &states, const std::string &name,
                       RankedTensorType type) {
    return type ? states.ensure(name, type, Role::slot) : success();
  }

  FailureOr<Inverses> read(const Arithmetic &math, const Layer &layer,
                           States &states) {
    Inverses inverses;
    for (auto [side, type, value] :
         {std::tuple(kInputs, layer.inputs, &inverses.inputs),
          std::tuple(kOutputs, layer.outputs, &inverses.outputs)}) {
      std::string name = inverseOf(side, layer.name);
      if (failed(ensure(states, name, type)))
        return failure();
      if (type)
        *value = readState(math.builder, math.loc, name, type);
    }
    return inverses;
  }

  /// Inverts what this step has measured, and writes it for later ones.
  FailureOr<Inverses> refresh(const Arithmetic &math, const Layer &layer,
                              FactorsOp factors, Shared &shared,
                              States &states) {
    Value weight;
    if (settings.decay > 0 &&
        !(weight = weightOfMeasurement(math, states, measuredOf(layer.name),
                                       settings.decay)))
      return failure();
    FailureOr<Value> inputs = averaged(math, averageOf(kInputs, layer.name),
                                       factors.getInputs(), weight, states),
                     outputs = averaged(math, averageOf(kOutputs, layer.name),
                                        factors.getOutputs(), weight, states);
    FailureOr<Inverses> old = read(math, layer, states);
    if (failed(inputs) || failed(outputs) || failed(old))
      return failure();
    if (factors.getMeasuredOnly())
      return old;
    return inverted(math, layer, {*inputs, *outputs}, *old, shared);
  }

  /// The mean of a factor over time, or the factor where there is no mean.
  static FailureOr<Value> averaged(const Arithmetic &math,
                                   const std::string &name, Value factor,
                                   Value weight, States &states) {
    return factor && weight ? meanOverTime(math, states, name, factor, weight)
                            : factor;
  }

  /// The inverses, of which one is divided by the number of times that a sample
  /// uses the weight.
  Inverses inverted(const Arithmetic &math, const Layer &layer, Sides factors,
                    Inverses old, Shared &shared) {
    double scale = 1.0 / layer.positions;
    Value root =
        math.scale(1 / std::sqrt(double(layer.positions)), shared.root);
    Value pi = settings.splitsByTrace && factors.inputs && factors.outputs
                   ? ratioOfTraces(math, layer, factors)
                   : Value();
    Inverses result;
    if (factors.inputs) {
      Value damping = pi ? math.multiply(root, pi) : root;
      result.inputs =
          layer.isEmbedding()
              ? reciprocal(math, factors.inputs, damping)
              : inverted(math, layer.inputBlocks(), factors.inputs, damping,
                         factors.outputs ? 1 : scale, old.inputs, shared);
      writeState(math.builder, math.loc, inverseOf(kInputs, layer.name),
                 result.inputs);
    }
    if (factors.outputs) {
      Value damping = pi ? math.divide(root, pi) : root;
      result.outputs = inverted(math, layer.outputBlocks(), factors.outputs,
                                damping, scale, old.outputs, shared);
      writeState(math.builder, math.loc, inverseOf(kOutputs, layer.name),
                 result.outputs);
    }
    return result;
  }

  /// The inverses of damped blocks, times `scale`; counts the blocks that have
  /// none of their own.
  Value inverted(const Arithmetic &math, Blocks blocks, Value factor,
                 Value damping, double scale, Value old, Shared &shared) {
    BlockInverses inverses =
        inversesOf(math, blocks, factor, damping, old, scale);
    Value kept = math.make<arith::SelectOp>(
        inverses.areOwn, splatCount(math, inverses.areOwn, 0),
        splatCount(math, inverses.areOwn, 1));
    shared.kept.push_back(sum(math.builder, math.loc, kept, {0}));
    return inverses.values;
  }

  static Value splatCount(const Arithmetic &math, Value like, double number) {
    return splat(math.builder, math.loc,
                 tensorType(like).clone(math.builder.getI64Type()), number);
  }

  static Value reciprocal(const Arithmetic &math, Value shares, Value damping) {
    Value sum = math.add(shares, spreadLike(math, damping, shares));
    return math.divide(math.number(1, sum), sum);
  }

  /// The root of the ratio of both factors' mean eigenvalues, kept within
  /// bounds: a layer whose outputs do not matter has a trace of 0.
  Value ratioOfTraces(const Arithmetic &math, const Layer &layer,
                      Sides factors) {
    constexpr double kBound = 1e3;
    Value inputs =
        layer.isEmbedding()
            ? mean(math.builder, math.loc, factors.inputs, {0})
            : meanOfDiagonal(math, layer.inputBlocks(), factors.inputs);
    Value outputs = meanOfDiagonal(math, layer.outputBlocks(), factors.outputs);
    Value tiny = math.number(1e-30, inputs);
    Value pi = math.squareRoot(
        math.divide(math.larger(inputs, tiny), math.larger(outputs, tiny)));
    return math.smaller(math.larger(pi, math.number(1 / kBound, pi)),
                        math.number(kBound, pi));
  }

  //===-- directions ------------------------------------------------------===//

  static Value wideGradient(const Arithmetic &math, ParameterUpdate update) {
    return update
               ? convert(math.builder, math.loc, update.getGradientUse().get(),
                         math.builder.getF32Type())
               : Value();
  }

  /// Puts the directions of a layer's parameters in the place of gradients.
  void put(const Arithmetic &math, const Layer &layer, Value matrix,
           LayerUpdates updates, Shared &shared) {
    auto set = [&](ParameterUpdate update, Value wide, StringRef what) {
      RankedTensorType type = tensorType(update.getGradientUse().get());
      if (tensorType(wide).getShape() != type.getShape())
        wide = reshape(math.builder, math.loc, wide, type.getShape());
      replace(math.builder, update,
              convert(math.builder, math.loc, wide, type.getElementType()),
              shared);
      report(update, what);
    };
    if (updates.weight)
      set(updates.weight, layer.matrix.toWeight(math, matrix),
          "is multiplied by the inverses of both its sides");
    if (updates.bias)
      set(updates.bias, layer.matrix.toBias(math, matrix),
          "is multiplied with its weight, which it joins");
  }

  /// The matrix of a layer's gradient times the inverse of one of its sides.
  static Value timesInverse(const Arithmetic &math, const Layer &layer,
                            bool isInputs, Value matrix, Inverses inverses) {
    Value side = isInputs ? inverses.inputs : inverses.outputs;
    if (!side)
      return matrix;
    if (isInputs && layer.isEmbedding())
      return math.multiply(matrix,
                           broadcast(math.builder, math.loc, side,
                                     tensorType(matrix).getShape(),
                                     {layer.matrix.rowsAreInputs() ? 1 : 2}));
    return timesSide(math, layer.matrix, isInputs, matrix, side);
  }

  /// g / (g^2 / B + root of the damping), where B divides the loss: of all
  /// ranks and all micro-batches of an update.
  FailureOr<Value> ofLayerNorm(const Arithmetic &math, Value gradient,
                               GraphOp train, const Shared &shared) {
    FailureOr<Value> samples = samplesOfUpdate(math, train, areCounted);
    if (failed(samples))
      return failure();
    Value square = math.multiply(gradient, gradient);
    Value curvature = math.divide(square, spreadLike(math, *samples, square));
    return math.divide(
        gradient,
        math.add(curvature, spreadLike(math, shared.root, curvature)));
  }

  void report(ParameterUpdate update, StringRef what) {
    remark::passed(
        update.getLoc(),
        remark::RemarkOpts::name("Preconditioned").category(getArgument()))
        << (update.getParameterName() + " " + what).str();
  }

  PreconditionSettings settings;
  llvm::MapVector<StringRef, Layer> layers;
  llvm::StringMap<StringRef> weightOfBias; // of those that are joined
  bool areCounted = false;                 // the samples of micro-batches
};

} // namespace
} // namespace gradus
