// Normalizes the inputs and the weights of the model's last dense layer: a
// fully normalized head.
//
// Runs on @predict before other graphs are derived from it. The layer is found
// from the output that the loss uses.

#include "passes/model/fc_to_fn.h"

#include "ir/arithmetic.h"
#include "ir/scalar_ops.h"
#include "passes/model/losses.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_FCTOFN
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The layer of an output: a matmul with a parameter, and its bias.
struct Head {
  MatmulOp matmul;
  arith::AddFOp biased; // null: no bias
  ReadOp weight, bias;

  Value end() { return biased ? biased.getResult() : matmul.getResult(); }
};

/// The read of a state, looking through casts and moves of elements.
ReadOp readOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto read = dyn_cast<ReadOp>(op))
      return read;
    if (!op->hasTrait<KeepsAllElements>() && !changesWidth(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// The dense layer that computes `value`.
Head layerAt(Value value) {
  Head head;
  if (auto sum = value.getDefiningOp<arith::AddFOp>())
    for (auto [image, bias] : {std::pair(sum.getLhs(), sum.getRhs()),
                               std::pair(sum.getRhs(), sum.getLhs())})
      if (ReadOp read = readOf(bias); read && image.getDefiningOp<MatmulOp>()) {
        head.biased = sum;
        head.bias = read;
        value = image;
        break;
      }
  head.matmul = value.getDefiningOp<MatmulOp>();
  if (head.matmul)
    head.weight = readOf(head.matmul.getB());
  return head;
}

/// Whether an op between the layer and the output has a single input and only
/// maps or moves its elements.
bool leadsOn(Operation *op) {
  if (op->hasTrait<KeepsAllElements>() || isa<SoftmaxOp>(op))
    return true;
  bool isElementwise =
      isa<Elementwise>(op) || op->hasTrait<OpTrait::Elementwise>();
  return isElementwise && op->getNumOperands() == 1;
}

Head headOf(Value output) {
  for (Value value = output;;) {
    Head head = layerAt(value);
    if (head.weight)
      return head;
    Operation *op = value.getDefiningOp();
    if (!op || !leadsOn(op))
      return {};
    value = op->getOperand(0);
  }
}

struct FcToFnPass : impl::FcToFnBase<FcToFnPass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = fcToFn().of(getOperation());
    GraphOp predict = getOperation().getGraph(well_known::kPredict);
    if (!predict || !settings || predict->hasAttr(kDone))
      return;
    if (failed(rewrite(predict, *settings)))
      signalPassFailure();
  }

private:
  LogicalResult rewrite(GraphOp predict, const FcToFnSettings &settings) {
    FailureOr<unsigned> output = findOutput(predict);
    if (failed(output))
      return failure();
    Head head = headOf(predict.getReturned()[*output]);
    if (!head.matmul)
      return recipe::keyError(getOperation(), "fc_to_fn")
             << "finds no dense layer with a weight of its own that gives the "
                "output \""
             << predict.getOutputName(*output)
             << "\", but for activations behind it";
    if (failed(replace(head, settings.epsilon, settings.bias)))
      return failure();
    predict->setAttr(kDone, UnitAttr::get(&getContext()));
    return success();
  }

  /// Finds the output that the loss names, or the model's only one.
  FailureOr<unsigned> findOutput(GraphOp predict) {
    std::string name = lossOutput(getOperation());
    unsigned count = predict.getReturned().size();
    for (unsigned i = 0; i < count; ++i)
      if (predict.getOutputName(i) == name)
        return i;
    if (name.empty() && count == 1)
      return 0;
    return recipe::keyError(getOperation(), "fc_to_fn")
           << "needs one output to look for the last layer from; the model has "
           << count << ", and loss.output names "
           << (name.empty() ? "none" : "none of them");
  }

  LogicalResult replace(Head head, double epsilon, bool keepsBias) {
    std::string weight = head.weight.getState().str();
    std::string multiplier =
        StringRef(weight).rsplit('.').first.str() + well_known::kMultiplier;
    OpBuilder builder(&getContext());
    auto type = RankedTensorType::get({1}, builder.getF32Type());
    if (failed(
            ensureState(getOperation(), multiplier, type, Role::parameter, 1)))
      return failure();
    leaveToOthers(head);
    normalizeOperands(head.matmul, epsilon);
    Value sum = keepsBias ? head.end() : head.matmul.getResult();
    builder.setInsertionPointAfterValue(sum);
    Value scaled = multiplied(builder, sum, multiplier, type);
    Value last = head.end();
    last.replaceUsesWithIf(scaled, [&](OpOperand &use) {
      return use.getOwner() != scaled.getDefiningOp();
    });
    if (head.biased && !keepsBias)
      dropBias(head);
    report(head.matmul, weight);
    return success();
  }

  /// Gives other users of the matmul without its bias an unchanged copy.
  static void leaveToOthers(Head head) {
    if (!head.biased || head.matmul->hasOneUse())
      return;
    Operation *own = OpBuilder(head.matmul).clone(*head.matmul);
    head.matmul->getResult(0).replaceUsesWithIf(
        own->getResult(0), [&](OpOperand &use) {
          return use.getOwner() != head.biased.getOperation();
        });
  }

  /// Normalizes the rows of the input and of the weight to length 1.
  static void normalizeOperands(MatmulOp matmul, double epsilon) {
    OpBuilder builder(matmul);
    int64_t a = tensorType(matmul.getA()).getRank(),
            b = tensorType(matmul.getB()).getRank();
    auto replace = [&](OpOperand &operand, int64_t axis) {
      operand.set(normalized(builder, operand.get(), axis, epsilon));
    };
    replace(matmul.getAMutable(), matmul.getTransposeA() ? a - 2 : a - 1);
    replace(matmul.getBMutable(), matmul.getTransposeB() ? b - 1 : b - 2);
  }

  /// value / sqrt(max(sum value^2, epsilon)).
  static Value normalized(OpBuilder &builder, Value value, int64_t axis,
                          double epsilon) {
    Location loc = value.getLoc();
    Arithmetic math(builder, loc);
    Value squares = sum(builder, loc, math.multiply(value, value), {axis});
    Value length =
        math.squareRoot(math.larger(squares, math.number(epsilon, squares)));
    return math.divide(value,
                       broadcastAlong(builder, loc, length,
                                      tensorType(value).getShape(), {axis}));
  }

  static Value multiplied(OpBuilder &builder, Value value, StringRef name,
                          RankedTensorType type) {
    Location loc = value.getLoc();
    Value factor = readState(builder, loc, name, type);
    factor = convert(builder, loc, reshape(builder, loc, factor, {}),
                     tensorType(value).getElementType());
    Value spread =
        broadcastScalar(builder, loc, factor, tensorType(value).getShape());
    return arith::MulFOp::create(builder, loc, spread, value);
  }

  void dropBias(Head head) {
    std::string state = head.bias.getState().str();
    Value bias = readOf(head.biased.getLhs()) == head.bias
                     ? head.biased.getLhs()
                     : head.biased.getRhs();
    head.biased.erase();
    while (Operation *op = bias.getDefiningOp()) {
      if (!op->use_empty())
        break;
      if (op->getNumOperands() == 0) {
        op->erase();
        break;
      }
      bias = op->getOperand(0);
      op->erase();
    }
    dropIfUnused(getOperation(), state);
  }

  void report(MatmulOp matmul, StringRef weight) {
    remark::passed(
        matmul.getLoc(),
        remark::RemarkOpts::name("Normalized").category(getArgument()))
        << ("the layer of " + weight + " is a head of full normalization")
               .str();
  }

  /// An attribute of @predict whose heads are normalized.
  static constexpr StringLiteral kDone = "gradus.full_normalization";
};

recipe::Field fcToFnKey() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Fn = FcToFnSettings;
  const Keys<Fn> keys = {
      Field{"epsilon", number, "0.0001",
            "the minimum square of a norm that is divided by"}
          .from(1e-30)
          .into(&Fn::epsilon),
      Field{"bias", boolean, "false", "whether it keeps its bias"}.into(
          &Fn::bias)};
  return Field{"fc_to_fn", object, "null",
               "normalizes the inputs and weights of the last dense layer"}
      .of(keys)
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<FcToFnSettings> &fcToFn() {
  static const recipe::Method<FcToFnSettings> method{fcToFnKey()};
  return method;
}

} // namespace gradus
