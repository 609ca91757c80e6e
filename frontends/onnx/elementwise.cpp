// ONNX ops that work element by element. Broadcasting becomes explicit.

#include "frontends/onnx/fold.h"
#include "frontends/onnx/operators.h"

#include "ir/build.h"

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

/// `FloatOp` or, on integers, `IntegerOp` of the two inputs at their common
/// shape.
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

// Integers wrap around, as in the type that the model computes with.
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

/// An op on floats whose result has the type of its input.
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

absl::Status gelu(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.error("approximate is \"", approximate,
                      "\", expected \"none\" or \"tanh\"");
  return importer.define(node, 0,
                         GeluOp::create(importer.builder,
                                        importer.location(node),
                                        input.getType(), input,
                                        /*tanh=*/approximate == "tanh"));
}

absl::Status identity(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
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

/// In inference, or with ratio 0, dropout is the identity.
absl::Status dropout(Importer &importer, const Node &node) {
  const Constant *ratio = importer.constant(node, 1),
                 *training = importer.constant(node, 2);
  importer.defineUnsupported(node, 1, "mask");
  if (node.opset() < 12 || node.input(2).empty())
    return identity(importer, node);
  if (!training)
    return node.error("its training_mode is not known beforehand");
  bool isTraining = llvm::any_of(training->tensor.integers,
                                 [](int64_t value) { return value; });
  bool drops = !ratio || llvm::any_of(ratio->tensor.floats,
                                      [](double value) { return value != 0; });
  if (isTraining && drops)
    return node.error(
        "drops values in training (ratio ",
        ratio && ratio->tensor.floats.size() ? ratio->tensor.floats[0] : 0.5,
        "), which is not built yet; export the model with ratio 0");
  return identity(importer, node);
}

const Operator kOperators[] = {
    {"Add", binary<arith::AddFOp, arith::AddIOp>, foldAdd},
    {"Sub", binary<arith::SubFOp, arith::SubIOp>, foldSub},
    {"Mul", binary<arith::MulFOp, arith::MulIOp>, foldMul},
    {"Div", binary<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>, foldDiv},
    {"Relu", unary<ReluOp>},
    {"Sigmoid", unary<SigmoidOp>},
    {"Tanh", unary<math::TanhOp>},
    {"Exp", unary<math::ExpOp>},
    {"Erf", unary<math::ErfOp>},
    {"Sqrt", unary<math::SqrtOp>, foldSqrt},
    {"Gelu", gelu},
    {"Identity", identity, foldIdentity},
    {"Dropout", dropout},
};

} // namespace

llvm::ArrayRef<Operator> elementwiseOperators() { return kOperators; }

} // namespace gradus::onnx
