// Measures the curvature of layers: of what goes into each, and of the gradient
// of what comes out.
//
// Runs right behind autodiff, where a weight's gradient still is the product of
// these two (weight_products.h). No layer is marked for it in the model, and
// none has to be found by its name.

#include "ir/arithmetic.h"
#include "passes/distribution.h"
#include "passes/local/joined_bias.h"
#include "passes/local/layer_moments.h"
#include "passes/model/loss_divisor.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/preconditioning.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_TRACEFACTORS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

using Kind = PreconditionSettings::Kind;

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
    if (isJoining() && !settings.isPerSample)
      return error(".bias")
             << "is \"joined\", which per_sample false excludes: "
                "MindSpore's biases keep their gradients";
    return checkRefreshes(getOperation(), "precondition", settings.refresh,
                          /*averages=*/settings.decay > 0);
  }

  bool isJoining() const {
    return settings.bias == PreconditionSettings::Bias::joined;
  }

  /// A weight whose curvature is measured, and the bias that joins it.
  struct Traced {
    ParameterUpdate weight, bias;
    WeightLayers layers;
  };
  /// A parameter that keeps its gradient, with the reason.
  using Kept = std::pair<ParameterUpdate, std::string>;

  LogicalResult trace(GraphOp train) {
    std::vector<Traced> traced;
    std::vector<Kept> kept;
    bool hasLayerNorms = false;
    if (failed(sort(train, traced, kept, hasLayerNorms)))
      return failure();
    if (isJoining())
      join(traced, kept);
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
    if (!hasLayerNorms && traced.empty())
      return error("") << "fits no layer that is trained"
                       << (first.empty() ? "" : ": ") << first;
    return success();
  }

  /// Sorts parameters into those whose curvature is measured and those that
  /// keep their gradient; `hasLayerNorms` says whether
  /// `precondition` divides some by their own curvature.
  LogicalResult sort(GraphOp train, std::vector<Traced> &traced,
                     std::vector<Kept> &kept, bool &hasLayerNorms) {
    ForwardPass forward(train);
    ParameterGroups groups(getOperation());
    for (auto update : train.getBody().front().getOps<ParameterUpdate>()) {
      if (auto settings = groups.settingsOf(update.getParameterName());
          settings.optimizer().preconditions)
        return error("") << "excludes the optimizer "
                         << settings.optimizer().name << ", which "
                         << update.getParameterName()
                         << " has: it preconditions gradients itself";
      if (settings.has(Kind::layerNorm) && isOfLayerNorm(update)) {
        hasLayerNorms = true;
        continue;
      }
      std::string reason;
      if (auto layers = layersOfUpdate(update, forward, reason))
        traced.push_back({update, {}, *layers});
      else
        kept.emplace_back(update, reason);
    }
    return success();
  }

  /// Gives each layer the bias that it has, of those that would be kept; none
  /// where its inputs are left alone.
  void join(std::vector<Traced> &traced, std::vector<Kept> &kept) {
    for (Traced &each : traced) {
      auto weight = tensorType(each.weight.getGradientUse().get());
      if (featuresOf(each.layers, weight, /*isInputs=*/true) > settings.limit)
        continue;
      auto bias = llvm::find_if(kept, [&](const Kept &one) {
        return isBiasOf(each.layers, one.first);
      });
      if (bias == kept.end())
        continue;
      each.bias = bias->first;
      kept.erase(bias);
      remark::passed(each.weight.getLoc(),
                     remark::RemarkOpts::name("Joined").category(getArgument()))
          << (each.bias.getParameterName() + " joins " +
              each.weight.getParameterName() +
              " as the weight of an input that is always 1")
                 .str();
    }
  }

  /// Nothing with a reason where the weight keeps its gradient.
  std::optional<WeightLayers> layersOfUpdate(ParameterUpdate update,
                                             const ForwardPass &forward,
                                             std::string &reason) {
    auto layers = layersOf(update, forward, reason);
    if (layers)
      reason = reasonToKeep(*layers, tensorType(update.getGradientUse().get()));
    return reason.empty() ? layers : std::nullopt;
  }

  std::string reasonToKeep(const WeightLayers &layers,
                           RankedTensorType weight) {
    Kind kind = layers.kind == WeightKind::dense         ? Kind::dense
                : layers.kind == WeightKind::convolution ? Kind::convolution
                                                         : Kind::embedding;
    if (!settings.has(kind))
      return "`kinds` does not name what it is";
    int64_t inputs = featuresOf(layers, weight, true),
            outputs = featuresOf(layers, weight, false);
    if (layers.groups > 1 && (layers.groupsInputs ? inputs : outputs) == 1)
      return (layers.cutsInputs && layers.cutsOutputs
                  ? "each group of the convolution has one "
                  : "each of its parts has one ") +
             std::string(layers.groupsInputs ? "input" : "output");
    if (inputs > settings.limit && outputs > settings.limit &&
        kind != Kind::embedding)
      return "both its sides are longer than `limit`";
    if (!positionsOf(layers))
      return "its parts are used at different numbers of positions";
    return "";
  }

  //===-- factors ---------------------------------------------------------===//

  void add(OpBuilder &builder, const Traced &traced, Value divisor) {
    ParameterUpdate update = traced.weight, bias = traced.bias;
    const WeightLayers &layers = traced.layers;
    Value inputs = layers.kind == WeightKind::embedding
                       ? shares(builder, layers, divisor)
                       : factor(builder, traced, /*isInputs=*/true),
          outputs = factor(builder, traced, /*isInputs=*/false);
    if (outputs)
      outputs = ofSamples(builder, outputs, divisor);
    auto factors = addFactors(builder, update, layers, inputs, outputs);
    if (bias)
      factors->setAttr(kJoined, builder.getStringAttr(bias.getParameterName()));
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Traced").category(getArgument()))
        << (update.getParameterName() + " (" + nameOf(layers.kind) +
            words(layers) + "): its curvature is measured")
               .str();
  }

  static std::string words(const WeightLayers &layers) {
    size_t uses = 0;
    for (const LayerUses &part : layers.parts)
      uses += part.uses.size();
    std::string words;
    if (layers.cutsInputs != layers.cutsOutputs)
      words += ", in " + std::to_string(layers.groups) + " parts";
    if (uses > layers.parts.size())
      words += ", of " + std::to_string(uses) + " uses";
    return words;
  }

  /// A side's factor for each layer; null where the side is left alone.
  Value factor(OpBuilder &builder, const Traced &traced, bool isInputs) {
    ParameterUpdate update = traced.weight;
    const WeightLayers &layers = traced.layers;
    int64_t features =
        featuresOf(layers, tensorType(update.getGradientUse().get()), isInputs);
    if (features > settings.limit)
      return reportLong(update, isInputs ? "inputs" : "outputs", features),
             Value();
    return momentsOf(builder, layers, isInputs,
                     [&](MutableArrayRef<SideRows> rows) {
                       return moment(builder, traced, rows, isInputs);
                     });
  }

  /// The second moment of a side's rows. That of the inputs has a 1 behind each
  /// if a bias is joined.
  Value moment(OpBuilder &builder, const Traced &traced,
               MutableArrayRef<SideRows> rows, bool isInputs) {
    WeightKind kind = traced.layers.kind;
    if (!settings.isPerSample && kind == WeightKind::convolution)
      for (SideRows &each : rows)
        each = ofMeanSample(builder, each);
    Value mean =
        secondMoment(builder, rows, settings.block, isInputs && traced.bias);
    if (!isInputs || settings.isPerSample || kind != WeightKind::dense)
      return mean;
    double count = 0;
    for (const SideRows &each : rows)
      count += each.count();
    Arithmetic math(builder, mean.getLoc());
    mean = math.scale(count / rows.front().features(), mean);
    return ranks ? math.multiply(mean, ranksLike(math, ranks, mean)) : mean;
  }

  /// In units of a sample's gradient: the loss's is divided by their number.
  static Value ofSamples(OpBuilder &builder, Value mean, Value divisor) {
    Arithmetic math(builder, mean.getLoc());
    Value square = convert(builder, math.loc, math.multiply(divisor, divisor),
                           tensorType(mean).getElementType());
    return math.multiply(mean, broadcastScalar(builder, math.loc, square,
                                               tensorType(mean).getShape()));
  }

  /// The part of the batch that reads each row of an embedding. Where a layer
  /// reads it as a part of a larger table, its own rows count, as the inputs of
  /// a dense layer would that are 1 for the row that is read and 0 for others.
  static Value shares(OpBuilder &builder, const WeightLayers &layers,
                      Value divisor) {
    Value count;
    for (const LayerUse &use : layers.parts.front().uses) {
      Value each = takePiece(builder, rowsRead(builder, use), /*axis=*/0);
      count =
          count ? Arithmetic(builder, each.getLoc()).add(count, each) : each;
    }
    Arithmetic math(builder, count.getLoc());
    return math.divide(count, broadcastScalar(builder, math.loc, divisor,
                                              tensorType(count).getShape()));
  }

  /// Returns how often each row of what a layer looks up is read, and which
  /// rows of it are the weight's.
  static SidePiece rowsRead(OpBuilder &builder, const LayerUse &use) {
    const WeightProduct &product = use.product;
    Location loc = product.op->getLoc();
    auto scatter = cast<ScatterAddOp>(product.op);
    auto ones = tensorType(product.inputs).clone(builder.getF32Type());
    auto type = RankedTensorType::get({scatter.getType().getDimSize(0)},
                                      builder.getF32Type());
    SidePiece rows = use.inputs.pieces.front();
    rows.value = ScatterAddOp::create(
        builder, loc, type, splat(builder, loc, ones, 1), product.inputs,
        /*axis=*/0, /*batch_dims=*/0);
    return rows;
  }

  /// The mean over the samples of all ranks, as a batch of one.
  SideRows ofMeanSample(OpBuilder &builder, SideRows side) {
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

  void reportLong(ParameterUpdate update, StringRef side, int64_t features) {
    remark::missed(update.getLoc(),
                   remark::RemarkOpts::name("Long").category(getArgument()))
        << (update.getParameterName() + " has " + Twine(features) + " " + side +
            ", more than `limit`, so they are left alone")
               .str();
  }

  PreconditionSettings settings;
  Value ranks; // that share the samples; null: there is one
};

} // namespace
} // namespace gradus
