// FOOF: multiplies a weight's gradient by the inverse of A + damping I, where A
// is the second moment of what goes into the layer.
//
// Benzing, "Gradient Descent on Neurons and its Link to Approximate
// Second-order Optimization", ICML 2022 (https://arxiv.org/abs/2201.12250).

#include "passes/local/layer_moments.h"
#include "passes/methods/factor_means.h"
#include "passes/methods/weight_blocks.h"
#include "passes/numbers.h"
#include "passes/pass_plugin.h"
#include "passes/preconditioning.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace {
using namespace mlir;
using namespace gradus;

struct Settings {
  recipe::Number damping;
  RefreshSettings refresh;
  double decay = 0;
  int64_t block = 0;
};

recipe::Field foofKey() {
  using enum recipe::Kind;
  using recipe::Field;
  const recipe::Keys<Settings> keys = {
      Field{"damping", number, "0.1", "added to the diagonal of A"}
          .positive()
          .into(&Settings::damping),
      refreshKey().into(&Settings::refresh),
      Field{"decay", number, "0.95", "of the mean of A over measurements"}
          .from(0)
          .below(1)
          .into(&Settings::decay),
      Field{"block", integer, "128", "the largest side of a block of A"}
          .from(1)
          .below(513)
          .into(&Settings::block)};
  return Field{"foof", object, "null",
               "preconditions gradients by what layers see"}
      .of(keys)
      .switched()
      .flagged();
}

/// Measures A in the updates that refresh. A gradient is a product of what its
/// layer has seen, right behind autodiff.
struct FoofMeasure : PassWrapper<FoofMeasure, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoofMeasure)
  StringRef getArgument() const override { return "foof-measure"; }
  static PluginMethod<Settings> method() { return {foofKey(), "gradients"}; }

  void runOnOperation() override {
    auto settings = method().of(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (!settings || !train)
      return;
    if (preconditioning().of(getOperation())) {
      error() << "excludes precondition, which inverts A and more";
      return signalPassFailure();
    }
    if (failed(checkRefreshes(getOperation(), "plugins.foof", settings->refresh,
                              /*averages=*/settings->decay > 0)) ||
        failed(measure(train, *settings)) ||
        failed(addRefreshes(train, settings->refresh)))
      signalPassFailure();
  }

  InFlightDiagnostic error() {
    return recipe::keyError(getOperation(), "plugins.foof");
  }

  LogicalResult measure(GraphOp train, const Settings &settings) {
    Block &block = train.getBody().front();
    OpBuilder builder(block.getTerminator());
    ForwardPass forward(train);
    std::string reason;
    for (auto update : block.getOps<ParameterUpdate>()) {
      auto layers = layersOf(update, forward, reason);
      if (!layers || layers->kind == WeightKind::embedding) {
        if (layers)
          reason = "the inputs of its layer are indices";
        keep(update, reason);
        continue;
      }
      Value a = momentsOf(builder, *layers, /*isInputs=*/true, settings.block);
      addFactors(builder, update, *layers, a, /*outputs=*/{});
    }
    if (block.getOps<FactorsOp>().empty())
      return error() << "fits no layer that is trained: " << reason;
    return success();
  }

  /// Tells the report of what stays as it is.
  void keep(ParameterUpdate update, StringRef reason) {
    auto options = remark::RemarkOpts::name("Kept").category(getArgument());
    remark::missed(update.getLoc(), options)
        << (update.getParameterName() + " keeps its gradient: " + reason).str();
  }
};

/// Inverts A where it was measured, and multiplies gradients by the inverse.
struct Foof : PassWrapper<Foof, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Foof)
  StringRef getArgument() const override { return "foof"; }
  static PluginMethod<Settings> method() { return {foofKey(), "distribution"}; }

  void runOnOperation() override {
    auto settings = method().of(getOperation());
    States states(getOperation());
    auto use = [&](ParameterUpdate update, FactorsOp factors, bool isNew) {
      OpBuilder builder(update);
      Arithmetic math(builder, update.getLoc());
      Value inverse =
          inverseOf(math, states, factors, isNew ? &*settings : nullptr);
      if (inverse)
        multiplyGradient(math, update, factors, /*isInputs=*/true, inverse);
      return success(bool(inverse));
    };
    if (settings && failed(useFactors(getOperation(), use)))
      signalPassFailure();
  }

  /// The inverse of this step's A; that of an earlier one where `measured` is
  /// null.
  Value inverseOf(const Arithmetic &math, States &states, FactorsOp factors,
                  const Settings *measured) {
    std::string weight = factors.getParameter().str(),
                name = "foof/inverse/" + weight;
    Value a = factors.getInputs();
    RankedTensorType type = tensorType(a);
    if (failed(states.ensure(name, type, Role::slot)))
      return {};
    Value old = readState(math.builder, math.loc, name, type);
    if (!measured)
      return old;
    Value share = weightOfMeasurement(math, states, "foof/measured/" + weight,
                                      measured->decay);
    Value damping =
        readNumber(math.builder, math.loc, states, measured->damping);
    if (!share || !damping)
      return {};
    auto mean = meanOverTime(math, states, "foof/mean/" + weight, a, share);
    if (failed(mean) || factors.getMeasuredOnly())
      return failed(mean) ? Value() : old;
    WeightMatrix form(factors);
    Blocks blocks = Blocks::of(type, form.inputs(), form.groups());
    damping = convert(math.builder, math.loc, damping, type.getElementType());
    Value inverse = inversesOf(math, blocks, *mean, damping, old).values;
    writeState(math.builder, math.loc, name, inverse);
    return inverse;
  }
};

} // namespace

GRADUS_PASS_PLUGIN(FoofMeasure, Foof)
