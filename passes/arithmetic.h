// Formulas on values: arithmetic of tensors of one type, at one place in a
// graph. Constants fold on the way.
#pragma once

#include "ir/build.h"

namespace gradus {

class Arithmetic {
public:
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value add(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::AddFOp>(loc, a, b);
  }
  mlir::Value subtract(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::SubFOp>(loc, a, b);
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::MulFOp>(loc, a, b);
  }
  mlir::Value divide(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::DivFOp>(loc, a, b);
  }
  mlir::Value negate(mlir::Value a) const {
    return builder.createOrFold<mlir::arith::NegFOp>(loc, a);
  }
  mlir::Value squareRoot(mlir::Value a) const {
    return builder.createOrFold<mlir::math::SqrtOp>(loc, a);
  }
  mlir::Value exponential(mlir::Value a) const {
    return builder.createOrFold<mlir::math::ExpOp>(loc, a);
  }
  mlir::Value logarithm(mlir::Value a) const {
    return builder.createOrFold<mlir::math::LogOp>(loc, a);
  }
  mlir::Value power(mlir::Value base, mlir::Value exponent) const {
    return builder.createOrFold<mlir::math::PowFOp>(loc, base, exponent);
  }
  mlir::Value absolute(mlir::Value a) const {
    return builder.createOrFold<mlir::math::AbsFOp>(loc, a);
  }
  mlir::Value floor(mlir::Value a) const {
    return builder.createOrFold<mlir::math::FloorOp>(loc, a);
  }
  mlir::Value ceiling(mlir::Value a) const {
    return builder.createOrFold<mlir::math::CeilOp>(loc, a);
  }
  mlir::Value cosine(mlir::Value a) const {
    return builder.createOrFold<mlir::math::CosOp>(loc, a);
  }
  mlir::Value smaller(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::MinimumFOp>(loc, a, b);
  }
  mlir::Value larger(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::MaximumFOp>(loc, a, b);
  }
  /// Whether a < b, as a tensor of booleans.
  mlir::Value less(mlir::Value a, mlir::Value b) const {
    return builder.createOrFold<mlir::arith::CmpFOp>(
        loc, mlir::arith::CmpFPredicate::OLT, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes,
                     mlir::Value no) const {
    return builder.createOrFold<mlir::arith::SelectOp>(loc, condition, yes, no);
  }
  /// -1, 0 or 1.
  mlir::Value sign(mlir::Value a) const {
    mlir::Value zero = number(0, a);
    return select(less(zero, a), number(1, a),
                  select(less(a, zero), number(-1, a), zero));
  }
  /// The root of the sum of all elements' squares, as a scalar.
  mlir::Value norm(mlir::Value a) const {
    return squareRoot(
        sum(builder, loc, multiply(a, a), allAxes(tensorType(a).getRank())));
  }
  /// `value` in every element of a tensor like `like`.
  mlir::Value number(double value, mlir::Value like) const {
    return splat(builder, loc, like.getType(), value);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace gradus
