// ONNX elementwise ops. Broadcasting becomes explicit.

#include "frontends/onnx/importer/fold.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/pytorch/aten_call.h"

#include "ir/build.h"
#include "ir/gradient_ops.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

//===-- two operands ------------------------------------------------------===//

absl::Status checkSameType(const Node &node, Type a, Type b) {
  if (a == b)
    return absl::OkStatus();
  std::string words;
  llvm::raw_string_ostream(words) << a << " and " << b;
  return node.error("its inputs have the different element types ", words);
}

/// Builds `FloatOp` or, for integers, `IntegerOp` on the two inputs, broadcast.
template <typename FloatOp, typename IntegerOp, typename UnsignedOp = IntegerOp>
absl::Status binary(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value a, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value b, importer.value(node, 1));
  Type element = tensorType(a).getElementType();
  GRADUS_RETURN_IF_ERROR(
      checkSameType(node, element, tensorType(b).getElementType()));
  absl::StatusOr<SmallVector<int64_t>> shape =
      commonShape(tensorType(a).getShape(), tensorType(b).getShape());
  if (!shape.ok())
    return node.error(shape.status().message());
  Location location = importer.location(node);
  OpBuilder &builder = importer.builder;
  a = broadcastLast(builder, location, a, *shape);
  b = broadcastLast(builder, location, b, *shape);
  if (isa<FloatType>(element))
    return importer.define(node, 0, FloatOp::create(builder, location, a, b));
  if (importer.isUnsigned(node, 0))
    return importer.define(node, 0,
                           UnsignedOp::create(builder, location, a, b));
  return importer.define(node, 0, IntegerOp::create(builder, location, a, b));
}

template <typename Function>
absl::StatusOr<Constant> foldBinary(const Node &node, Constants inputs,
                                    Function function) {
  if (inputs.size() != 2)
    return node.error("has ", inputs.size(), " inputs, expected 2");
  const Constant &a = *inputs[0], &b = *inputs[1];
  GRADUS_RETURN_IF_ERROR(checkSameType(node, a.element, b.element));
  absl::StatusOr<SmallVector<int64_t>> shape =
      commonShape(a.tensor.shape, b.tensor.shape);
  if (!shape.ok())
    return node.error(shape.status().message());
  Constant left = expanded(a, *shape);
  const Constant right = expanded(b, *shape);
  for (size_t i = 0; i < left.tensor.floats.size(); ++i)
    left.tensor.floats[i] =
        function(left.tensor.floats[i], right.tensor.floats[i]);
  for (size_t i = 0; i < left.tensor.integers.size(); ++i)
    left.tensor.integers[i] =
        function(left.tensor.integers[i], right.tensor.integers[i]);
  return left;
}

// Integers wrap around as in the model's type.
double plus(double a, double b) { return a + b; }
int64_t plus(int64_t a, int64_t b) { return uint64_t(a) + uint64_t(b); }
double times(double a, double b) { return a * b; }
int64_t times(int64_t a, int64_t b) { return uint64_t(a) * uint64_t(b); }
double negative(double a) { return -a; }
int64_t negative(int64_t a) { return -uint64_t(a); }

absl::StatusOr<Constant> foldAdd(const Node &node, Constants inputs) {
  return foldBinary(node, inputs, [](auto a, auto b) { return plus(a, b); });
}
absl::StatusOr<Constant> foldSub(const Node &node, Constants inputs) {
  return foldBinary(node, inputs,
                    [](auto a, auto b) { return plus(a, negative(b)); });
}
absl::StatusOr<Constant> foldMul(const Node &node, Constants inputs) {
  return foldBinary(node, inputs, [](auto a, auto b) { return times(a, b); });
}
absl::StatusOr<Constant> foldDiv(const Node &node, Constants inputs) {
  if (inputs.size() == 2 && llvm::is_contained(inputs[1]->tensor.integers, 0))
    return node.error("divides an integer by zero");
  return foldBinary(node, inputs, [](auto a, auto b) {
    return b == -1 ? negative(a) : a / b;
  });
}

//===-- one operand -------------------------------------------------------===//

/// Builds an op on floats whose result has the type of its input.
template <typename Op>
absl::Status unary(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  if (!isa<FloatType>(tensorType(input).getElementType()))
    return node.error("its input \"", node.input(0).str(),
                      "\" holds no floats");
  return importer.define(node, 0,
                         Op::create(importer.builder, importer.location(node),
                                    input.getType(), input));
}

absl::Status judgeGelu(const Node &node) {
  std::string approximate = node.text("approximate", "none");
  if (approximate == "none" || approximate == "tanh")
    return absl::OkStatus();
  return node.error("approximate is \"", approximate,
                    "\", expected \"none\" or \"tanh\"");
}

absl::Status gelu(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  bool isTanh = node.text("approximate", "none") == "tanh";
  return importer.define(node, 0,
                         GeluOp::create(importer.builder,
                                        importer.location(node),
                                        input.getType(), input, isTanh));
}

absl::Status identity(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  if (isDetach(node) && isa<FloatType>(tensorType(input).getElementType()))
    input = StopGradientOp::create(importer.builder, importer.location(node),
                                   input, Value());
  return importer.define(node, 0, input);
}

absl::StatusOr<Constant> foldIdentity(const Node &node, Constants inputs) {
  return *inputs[0];
}

template <typename Function>
absl::StatusOr<Constant> foldUnary(const Node &node, Constants inputs,
                                   Function function) {
  Constant result = *inputs[0];
  for (double &value : result.tensor.floats)
    value = function(value);
  for (int64_t &value : result.tensor.integers)
    value = function(value);
  return result;
}

absl::StatusOr<Constant> foldSqrt(const Node &node, Constants inputs) {
  return foldUnary(node, inputs, [](auto a) { return std::sqrt(double(a)); });
}
//===-- dropout -----------------------------------------------------------===//

/// Whether the node was exported for inference; before opset 12 all are.
absl::StatusOr<bool> isInferenceForm(const Importer &importer,
                                     const Node &node) {
  if (node.opset() < 12 || node.input(2).empty())
    return true;
  const Constant *training = importer.constant(node, 2);
  if (!training)
    return node.error("its training_mode is not known beforehand");
  return training->tensor.integers.empty() || !training->tensor.integers[0];
}

/// The ratio that the node gives as a constant; nothing if it does not.
std::optional<double> statedRatio(const Importer &importer, const Node &node) {
  if (node.opset() < 12 && node.hasAttribute("ratio"))
    return node.number("ratio", 0.5);
  const Constant *ratio =
      node.opset() < 12 ? nullptr : importer.constant(node, 1);
  if (ratio && ratio->tensor.floats.size() == 1)
    return ratio->tensor.floats[0];
  return std::nullopt;
}

/// The share of elements that training drops: the node's ratio in either form;
/// without one a half in training form and none in inference form.
absl::StatusOr<double> ratioOf(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(bool isInference, isInferenceForm(importer, node));
  std::optional<double> stated = statedRatio(importer, node);
  if (!stated && !isInference && !node.input(1).empty())
    return node.error("its ratio is not known beforehand");
  double ratio = stated.value_or(isInference ? 0 : 0.5);
  if (!(ratio >= 0 && ratio <= 1))
    return node.error("its ratio is ", ratio, ", expected 0 to 1");
  if (isInference)
    importer.trainingNotes.addDropout(stated);
  return ratio;
}

/// The mask output when nothing drops: all true; before opset 10 ones of the
/// input's type.
absl::Status letAllThrough(Importer &importer, const Node &node) {
  GRADUS_RETURN_IF_ERROR(identity(importer, node));
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, 0));
  OpBuilder &builder = importer.builder;
  if (node.opset() >= 10)
    type = type.clone(builder.getI1Type());
  auto ones =
      DenseElementsAttr::get(type, builder.getOneAttr(type.getElementType()));
  return importer.define(
      node, 1,
      arith::ConstantOp::create(builder, importer.location(node), ones));
}

/// Drops elements in training if the node or the recipe says so; otherwise
/// passes the input on.
absl::Status dropout(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(double ratio, ratioOf(importer, node));
  std::optional<double> wanted = importer.recipeNumber("dropout");
  ratio = wanted.value_or(ratio);
  if (ratio == 0)
    return letAllThrough(importer, node);
  importer.defineUnsupported(node, 1, "mask");
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  if (!isa<FloatType>(tensorType(input).getElementType()))
    return node.error("its input \"", node.input(0).str(),
                      "\" is no tensor of floats");
  return importer.define(
      node, 0,
      DropoutOp::create(importer.builder, importer.location(node), input,
                        importer.builder.getF64FloatAttr(ratio)));
}

//===-- export ------------------------------------------------------------===//

absl::Status writeGelu(const OpWriter &w, const char *node) {
  w.graph.needOpset(20);
  bool isTanh = cast<GeluOp>(w.op).getTanh();
  return w.define(node, {w.input(0)},
                  {attribute("approximate", isTanh ? "tanh" : "none")});
}

/// Written for training; for inference the program has no dropout.
absl::Status writeDropout(const OpWriter &w, const char *node) {
  Builder builder(w.op->getContext());
  double ratio = cast<DropoutOp>(w.op).getRatio().convertToDouble();
  return w.define(node,
                  {w.input(0), w.graph.number(ratio, builder.getF32Type()),
                   w.graph.number(1, builder.getI1Type())});
}

absl::Status writeStopGradient(const OpWriter &w, const char *node) {
  if (cast<StopGradientOp>(w.op).getSubstitute())
    return w.error("passes its gradient to the value before a rounding, which "
                   "ONNX has no node for");
  GRADUS_RETURN_IF_ERROR(w.define(node, {w.input(0)}));
  return w.graph.mark(kCall, "target=torch.ops.aten.detach.default"),
         absl::OkStatus();
}

constexpr Ignored kIgnoredByDropout[] = {
    {"is_test", "training drops by the ratio in either form"},
    {"seed", kWhySeed}};

const Operator kOperators[] = {
    {"Add", {6, "A, B"}, binary<arith::AddFOp, arith::AddIOp>, foldAdd},
    {"Sub", {6, "A, B"}, binary<arith::SubFOp, arith::SubIOp>, foldSub},
    {"Mul", {6, "A, B"}, binary<arith::MulFOp, arith::MulIOp>, foldMul},
    {"Div",
     {6, "A, B"},
     binary<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>,
     foldDiv},
    {"Relu", {6, "X", "integers"}, unary<ReluOp>},
    {"Sigmoid", {6, "X"}, unary<SigmoidOp>},
    {"Tanh", {6, "input"}, unary<math::TanhOp>},
    {"Exp", {6, "input"}, unary<math::ExpOp>},
    {"Erf", {9, "input"}, unary<math::ErfOp>},
    {"Sqrt", {6, "X"}, unary<math::SqrtOp>, foldSqrt},
    {"Gelu", {20, "X", "", judgeGelu}, gelu},
    {"Identity", {6, "input"}, identity, foldIdentity},
    {"Dropout",
     {6, "data",
      "output `mask` where training drops; computed `ratio`, `training_mode`",
      nullptr, "", kIgnoredByDropout},
     dropout},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"arith.addf", "Add", broadcasting},
    {"arith.addi", "Add", ofNumbers<broadcasting>},
    {"arith.subf", "Sub", broadcasting},
    {"arith.subi", "Sub", ofNumbers<broadcasting>},
    {"arith.mulf", "Mul", broadcasting},
    {"arith.muli", "Mul", ofNumbers<broadcasting>},
    {"arith.divf", "Div", broadcasting},
    {"arith.divsi", "Div", ofNumbers<broadcasting>},
    {"arith.divui", "Div", ofNumbers<broadcastingUnsigned>},
    {"gradus.relu", "Relu", same},
    {"gradus.sigmoid", "Sigmoid", same},
    {"math.tanh", "Tanh", same},
    {"math.exp", "Exp", same},
    {"math.erf", "Erf", same},
    {"math.sqrt", "Sqrt", same},
    {"gradus.gelu", "Gelu", writeGelu},
    {"gradus.dropout", "Dropout", writeDropout},
    {"gradus.stop_gradient", "Identity", writeStopGradient},
};

} // namespace

llvm::ArrayRef<Operator> elementwiseOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> elementwiseExports() { return kExports; }

} // namespace gradus::onnx
