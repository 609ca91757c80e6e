// Measures the curvature of layers: of what goes into each, and of the gradient
// of what comes out.
//
// Runs right behind autodiff, where a weight's gradient still is the product of
// these two (weight_products.h). No layer is marked for it in the model, and
// none has to be found by its name.

#include "ir/arithmetic.h"
#include "passes/distribution.h"
#include "passes/local/joined_bias.h"
#include "passes/local/weight_products.h"
#include "passes/model/loss_divisor.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/preconditioning.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

namespace gradus {
#define GEN_PASS_DEF_TRACEFACTORS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

using Kind = PreconditionSettings::Kind;

/// A side of a layer: rows of features along an axis, or images, from which a
/// window takes patches.
struct Side {
  Value value;
  int64_t axis;
  ConvolutionBackwardWeightsOp window = {}; // null: no patches
  int64_t groups = 1;

  int64_t features() const {
    RankedTensorType type = tensorType(value);
    int64_t count = type.getDimSize(axis);
    if (window)
      for (int64_t size : taps())
        count *= size;
    return count / groups;
  }
  ArrayRef<int64_t> taps() const {
    auto op = window; // whose methods are not const
    return op.getType().getShape().drop_front(2);
  }
  int64_t rows() const {
    RankedTensorType type = tensorType(value);
    return type.getNumElements() / type.getDimSize(axis);
  }
};

/// Whether a window is one element that moves by one, so that patches are
/// elements.
bool isPlain(ConvolutionBackwardWeightsOp op) {
  auto all = [](ArrayRef<int64_t> numbers, int64_t value) {
    return llvm::all_of(numbers, [&](int64_t each) { return each == value; });
  };
  return all(op.getType().getShape().drop_front(2), 1) &&
         all(op.getStrides(), 1) && all(op.getPadsBegin(), 0) &&
         all(op.getPadsEnd(), 0);
}

Side inputsOf(const WeightProduct &product) {
  auto window = dyn_cast<ConvolutionBackwardWeightsOp>(product.op);
  if (window && isPlain(window))
    window = {};
  return {product.inputs, product.inputAxis, window, product.groups};
}

Side outputsOf(const WeightProduct &product) {
  return {product.outputs, product.outputAxis, {}, product.groups};
}

/// The number of times that a sample uses the weight of a convolution.
int64_t positionsOf(const WeightProduct &product) {
  if (product.kind != WeightKind::convolution)
    return 1;
  int64_t positions = 1;
  for (int64_t size : tensorType(product.outputs).getShape().drop_front(2))
    positions *= size;
  return positions;
}

struct TraceFactorsPass : impl::TraceFactorsBase<TraceFactorsPass> {
  using Base::Base;

  void runOnOperation() override {
    auto wanted = preconditioning().of(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (!wanted || !train || isDone())
      return;
    settings = *wanted;
    if (failed(check()) || failed(trace(train)))
      signalPassFailure();
  }

private:
  bool isDone() {
    return llvm::any_of(
        getOperation().getBody().getOps<GraphOp>(), [](GraphOp graph) {
          return !graph.getBody().front().getOps<FactorsOp>().empty();
        });
  }

  InFlightDiagnostic error(const Twine &key) {
    return recipe::keyError(getOperation(), "precondition" + key);
  }

  LogicalResult check() {
    if (distributionOf(getOperation()).logicalRanks)
      return error("")
             << "excludes distribution.logical_ranks, whose processes "
                "compute several ranks one after the other";
    if (settings.bias == PreconditionSettings::Bias::joined &&
        !settings.isPerSample)
      return error(".bias")
             << "is \"joined\", which per_sample false excludes: "
                "MindSpore's biases keep their gradients";
    return checkRefresh();
  }

  LogicalResult checkRefresh() {
    const auto &at = settings.refresh.at;
    if (settings.refresh.measureEvery && (settings.decay == 0 || at))
      return error(".refresh.measure_every")
             << (at ? "excludes refresh.at, whose updates measure and invert"
                    : "is for a mean over time, and decay is 0: factors are "
                      "measured where they are inverted");
    if (at && (at->empty() || at->front() != 0))
      return error(".refresh.at")
             << "does not begin with 0, and the first update needs factors";
    if (settings.refresh.measureEvery &&
        *settings.refresh.measureEvery >= settings.refresh.every)
      return error(".refresh.measure_every")
             << "is " << *settings.refresh.measureEvery
             << ", expected less than refresh.every, which is "
             << settings.refresh.every;
    if (settings.refresh.measureEvery && settings.refresh.spread > 1)
      return error(".refresh.measure_every")
             << "excludes refresh.spread, whose updates each measure a part "
                "of the layers";
    if (settings.refresh.spread > 1 && at)
      return error(".refresh.spread")
             << "is " << settings.refresh.spread
             << ", but refresh.at says the updates of whole refreshes; use "
                "refresh.every";
    if (settings.refresh.spread > settings.refresh.every)
      return error(".refresh.spread")
             << "is " << settings.refresh.spread
             << ", more than the updates from one refresh to the next, "
                "refresh.every, which is "
             << settings.refresh.every;
    if (at)
      for (size_t i = 1; i < at->size(); ++i)
        if ((*at)[i] <= (*at)[i - 1])
          return error(".refresh.at")
                 << "has " << (*at)[i] << " after " << (*at)[i - 1]
                 << ", expected ascending updates";
    return success();
  }

  /// A weight whose curvature is measured, and the bias that joins it.
  struct Traced {
    ParameterUpdate weight, bias;
    WeightProduct product;
  };
  /// A parameter that keeps its gradient, with the reason.
  using Kept = std::pair<ParameterUpdate, std::string>;

  LogicalResult trace(GraphOp train) {
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    std::vector<Traced> traced;
    std::vector<Kept> kept;
    bool isUsed = false;
    if (failed(sort(train, updates, traced, kept, isUsed)))
      return failure();
    if (settings.bias == PreconditionSettings::Bias::joined)
      join(traced, kept, updates);
    OpBuilder builder(train.getBody().front().getTerminator());
    FailureOr<Value> divisor = divisorOfLoss(builder, train);
    if (failed(divisor))
      return failure();
    if (isDataParallel(getOperation()) &&
        !(ranks = readRanks(builder, train.getLoc(), getOperation())))
      return failure();
    for (const Traced &each : traced)
      add(builder, each, *divisor);
    std::string first;
    for (const auto &[update, reason] : kept) {
      std::string words = reportKept(update, reason);
      if (first.empty())
        first = words;
    }
    if (!isUsed && traced.empty())
      return error("") << "fits no layer that is trained"
                       << (first.empty() ? "" : ": ") << first;
    return success();
  }

  /// Sorts parameters into those whose curvature is measured and those that
  /// keep their gradient; `isUsed` says whether there are layer norms, which
  /// `precondition` divides by their own curvature.
  LogicalResult sort(GraphOp train, ArrayRef<ParameterUpdate> updates,
                     std::vector<Traced> &traced, std::vector<Kept> &kept,
                     bool &isUsed) {
    ForwardPass forward(train);
    ParameterGroups groups(getOperation());
    for (ParameterUpdate update : updates) {
      if (auto other = preconditionerOf(groups, update); !other.empty())
        return error("") << "excludes the optimizer " << other << ", which "
                         << update.getParameterName()
                         << " has: it preconditions gradients itself";
      if (settings.has(Kind::layerNorm) && isOfLayerNorm(update)) {
        isUsed = true;
        continue;
      }
      std::string reason;
      auto product =
          weightProduct(update.getGradientUse().get(), forward, reason);
      if (product && reason.empty())
        reason = reasonToKeep(*product);
      if (reason.empty())
        traced.push_back({update, {}, *product});
      else
        kept.emplace_back(update, reason);
    }
    return success();
  }

  /// Gives each layer the bias that it has, of those that would be kept; none
  /// where its inputs are left alone.
  void join(std::vector<Traced> &traced, std::vector<Kept> &kept,
            ArrayRef<ParameterUpdate> updates) {
    llvm::StringSet<> joined;
    for (Traced &each : traced) {
      ParameterUpdate bias = biasOf(each.product, updates);
      bool isFree =
          bias && llvm::is_contained(llvm::make_first_range(kept), bias);
      if (!isFree || isLong(inputsOf(each.product)) ||
          !joined.insert(bias.getParameterName()).second)
        continue;
      each.bias = bias;
      remark::passed(each.weight.getLoc(),
                     remark::RemarkOpts::name("Joined").category(getArgument()))
          << (bias.getParameterName() + " joins " +
              each.weight.getParameterName() +
              " as the weight of an input that is always 1")
                 .str();
    }
    llvm::erase_if(kept, [&](const Kept &each) {
      return joined.contains(ParameterUpdate(each.first).getParameterName());
    });
  }

  /// The name of a parameter's optimizer if it has curvature of its own.
  static std::string preconditionerOf(const ParameterGroups &groups,
                                      ParameterUpdate update) {
    std::string name(
        groups.settingsOf(update.getParameterName()).optimizer().name);
    return name == "muon" ? name : "";
  }

  std::string reasonToKeep(const WeightProduct &product) {
    Kind kind = product.kind == WeightKind::dense         ? Kind::dense
                : product.kind == WeightKind::convolution ? Kind::convolution
                                                          : Kind::embedding;
    if (!settings.has(kind))
      return "`kinds` does not name what it is";
    if (product.groups > 1 && outputsOf(product).features() == 1)
      return "each group of the convolution has one output";
    if (isLong(inputsOf(product)) && isLong(outputsOf(product)) &&
        kind != Kind::embedding)
      return "both its sides are longer than `limit`";
    return "";
  }

  bool isLong(const Side &side) { return side.features() > settings.limit; }

  //===-- factors ---------------------------------------------------------===//

  void add(OpBuilder &builder, const Traced &traced, Value divisor) {
    ParameterUpdate update = traced.weight, bias = traced.bias;
    const WeightProduct &product = traced.product;
    Value inputs = product.kind == WeightKind::embedding
                       ? shares(builder, product, divisor)
                       : inputFactor(builder, update, product, bool(bias));
    Value outputs = outputFactor(builder, update, product, divisor);
    auto factors = FactorsOp::create(
        builder, update.getLoc(),
        FlatSymbolRefAttr::get(&getContext(), update.getParameterName()),
        inputs, outputs, builder.getStringAttr(nameOf(product.kind)),
        builder.getDenseI64ArrayAttr(product.axes),
        builder.getI64IntegerAttr(product.groups),
        builder.getI64IntegerAttr(positionsOf(product)), UnitAttr());
    if (bias)
      factors->setAttr(kJoined, builder.getStringAttr(bias.getParameterName()));
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Traced").category(getArgument()))
        << (update.getParameterName() + " (" + nameOf(product.kind) +
            "): its curvature is measured")
               .str();
  }

  /// Null where the side is left alone.
  Value inputFactor(OpBuilder &builder, ParameterUpdate update,
                    const WeightProduct &product, bool isJoined) {
    Side side = inputsOf(product);
    if (isLong(side))
      return reportLong(update, "inputs", side), Value();
    if (isJoined)
      return withOnes(
          builder,
          {side.value, side.axis, side.window, side.groups, side.features()},
          gram(builder, side, /*ones=*/1));
    if (settings.isPerSample)
      return gram(builder, side);
    if (product.kind == WeightKind::convolution)
      return gram(builder, ofMeanSample(builder, side));
    Value mean = scaled(builder, gram(builder, side),
                        double(side.rows()) / side.features());
    Arithmetic math(builder, mean.getLoc());
    return ranks ? math.multiply(mean, ranksLike(math, ranks, mean)) : mean;
  }

  /// In units of a sample's gradient: the loss's is divided by their number.
  Value outputFactor(OpBuilder &builder, ParameterUpdate update,
                     const WeightProduct &product, Value divisor) {
    Side side = outputsOf(product);
    if (isLong(side))
      return reportLong(update, "outputs", side), Value();
    if (!settings.isPerSample && product.kind == WeightKind::convolution)
      side = ofMeanSample(builder, side);
    Value mean = gram(builder, side);
    Arithmetic math(builder, mean.getLoc());
    Value square = convert(builder, math.loc, math.multiply(divisor, divisor),
                           tensorType(mean).getElementType());
    return math.multiply(mean, broadcastScalar(builder, math.loc, square,
                                               tensorType(mean).getShape()));
  }

  static Value scaled(OpBuilder &builder, Value value, double factor) {
    return Arithmetic(builder, value.getLoc()).scale(factor, value);
  }

  /// The part of the batch that reads each row of an embedding.
  static Value shares(OpBuilder &builder, const WeightProduct &product,
                      Value divisor) {
    Location loc = product.op->getLoc();
    Arithmetic math(builder, loc);
    auto scatter = cast<ScatterAddOp>(product.op);
    auto ones = tensorType(product.inputs).clone(builder.getF32Type());
    auto counts = RankedTensorType::get({scatter.getType().getDimSize(0)},
                                        builder.getF32Type());
    Value count =
        ScatterAddOp::create(builder, loc, counts, splat(builder, loc, ones, 1),
                             product.inputs, /*axis=*/0, /*batch_dims=*/0);
    return math.divide(
        count, broadcastScalar(builder, loc, divisor, counts.getShape()));
  }

  /// The mean over the samples of all ranks, as a batch of one.
  Side ofMeanSample(OpBuilder &builder, Side side) {
    Location loc = side.value.getLoc();
    SmallVector<int64_t> shape(tensorType(side.value).getShape());
    shape[0] = 1;
    Value sample = mean(builder, loc, side.value, {0});
    if (ranks) // in f32, as a sum of 16 bits may be too large
      sample = meanOverRanks(
          Arithmetic(builder, loc),
          convert(builder, loc, sample, builder.getF32Type()), ranks);
    side.value = reshape(builder, loc, sample, shape);
    return side;
  }

  /// Factors are f32, whatever the layer computes in. Blocks have room for
  /// `ones` more features.
  Value gram(OpBuilder &builder, const Side &side, int64_t ones = 0) {
    Location loc = side.value.getLoc();
    int64_t features = side.features(),
            block = std::min(settings.block, features + ones),
            blocks = llvm::divideCeil(features, block);
    auto type = RankedTensorType::get(
        {side.groups * blocks, block, block},
        computeType(tensorType(side.value).getElementType()));
    auto op = side.window;
    Value factor =
        op ? GramOp::create(builder, loc, type, side.value, IntegerAttr(),
                            builder.getDenseI64ArrayAttr(side.taps()),
                            op.getStrides(), op.getPadsBegin(), op.getPadsEnd(),
                            op.getDilations(), side.groups, block)
           : GramOp::create(builder, loc, type, side.value,
                            builder.getI64IntegerAttr(side.axis),
                            DenseI64ArrayAttr(), {}, {}, {}, {}, side.groups,
                            block);
    return convert(builder, loc, factor, builder.getF32Type());
  }

  //===-- remarks ---------------------------------------------------------===//

  /// Returns what it says.
  std::string reportKept(ParameterUpdate update, StringRef reason) {
    std::string words =
        (update.getParameterName() + " keeps its gradient: " + reason).str();
    remark::missed(update.getLoc(),
                   remark::RemarkOpts::name("Kept").category(getArgument()))
        << words;
    return words;
  }

  void reportLong(ParameterUpdate update, StringRef side, const Side &of) {
    remark::missed(update.getLoc(),
                   remark::RemarkOpts::name("Long").category(getArgument()))
        << (update.getParameterName() + " has " + Twine(of.features()) + " " +
            side + ", more than `limit`, so they are left alone")
               .str();
  }

  PreconditionSettings settings;
  Value ranks; // that share the samples; null: there is one
};

} // namespace
} // namespace gradus
