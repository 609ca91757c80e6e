// The scalar form of elementwise ops, of which fusion makes kernels.
//
// arith and math ops mean the same on scalars as on tensors, so they are
// repeated; our own ops are written out.

#include "ir/build.h"
#include "ir/external_models.h"

using namespace mlir;
using namespace gradus;

//===-- our own ops -------------------------------------------------------===//

/// maximumf keeps NaN, as relu does.
Value ReluOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Value zero = splat(builder, getLoc(), scalars[0].getType(), 0);
  return arith::MaximumFOp::create(builder, getLoc(), scalars[0], zero);
}

Value SigmoidOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Value one = splat(builder, getLoc(), scalars[0].getType(), 1);
  Value negative = arith::NegFOp::create(builder, getLoc(), scalars[0]);
  Value exponential = math::ExpOp::create(builder, getLoc(), negative);
  Value sum = arith::AddFOp::create(builder, getLoc(), one, exponential);
  return arith::DivFOp::create(builder, getLoc(), one, sum);
}

Value GeluOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Value x = scalars[0];
  auto number = [&](double value) {
    return splat(builder, getLoc(), x.getType(), value);
  };
  auto multiply = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, getLoc(), a, b);
  };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddFOp::create(builder, getLoc(), a, b);
  };
  Value spread;
  if (getTanh()) {
    Value cube = multiply(multiply(x, x), x);
    Value inner = add(x, multiply(number(0.044715), cube));
    // sqrt(2 / pi)
    spread = math::TanhOp::create(builder, getLoc(),
                                  multiply(number(0.7978845608028654), inner));
  } else {
    // 1 / sqrt(2)
    spread = math::ErfOp::create(builder, getLoc(),
                                 multiply(x, number(0.7071067811865476)));
  }
  return multiply(multiply(number(0.5), x), add(number(1), spread));
}

//===-- arith and math ----------------------------------------------------===//

namespace {
/// Builds the same op on scalars.
template <typename Op>
struct Repeated : Elementwise::ExternalModel<Repeated<Op>, Op> {
  Value buildScalar(Operation *op, OpBuilder &builder,
                    ValueRange scalars) const {
    OperationState state(op->getLoc(), op->getName(), scalars,
                         {getElementTypeOrSelf(op->getResult(0).getType())},
                         op->getAttrs());
    return builder.create(state)->getResult(0);
  }
};
} // namespace

void gradus::registerElementwiseModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, arith::ArithDialect *, math::MathDialect *) {
#define SCALAR_OP(op, ...) op::attachInterface<Repeated<op>>(*context);
#include "ir/scalar_ops.def"
      });
}
