// The scalar form of elementwise ops, of which fusion makes kernels.
//
// arith and math ops mean the same on scalars as on tensors, so they are
// repeated; our own ops are written out.

#include "ir/arithmetic.h"
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
  Arithmetic a{builder, getLoc()};
  Value one = a.number(1, scalars[0]);
  return a.divide(one, a.add(one, a.exponential(a.negate(scalars[0]))));
}

Value GeluOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Arithmetic a{builder, getLoc()};
  Value x = scalars[0], spread;
  if (getTanh()) {
    Value cube = a.multiply(a.multiply(x, x), x);
    Value inner = a.add(x, a.multiply(a.number(0.044715, x), cube));
    // sqrt(2 / pi)
    spread = a.make<math::TanhOp>(
        a.multiply(a.number(0.7978845608028654, x), inner));
  } else {
    spread = a.make<math::ErfOp>(a.scale(0.7071067811865476, x)); // 1 / sqrt(2)
  }
  return a.multiply(a.multiply(a.number(0.5, x), x),
                    a.add(a.number(1, x), spread));
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
