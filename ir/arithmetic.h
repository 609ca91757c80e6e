// Formulas on values: arithmetic of tensors or scalars of one type, at one
// place in a graph. Constants fold on the way.
#pragma once

#include "ir/build.h"

namespace gradus {

struct Arithmetic {
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  template <typename Op, typename... Args>
  mlir::Value make(Args &&...args) const {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

  /// `value` in every element of a tensor like `like`.
  mlir::Value number(double value, mlir::Value like) const {
    return splat(builder, loc, like.getType(), value);
  }

  // These take floats or integers.
  mlir::Value add(mlir::Value a, mlir::Value b) const {
    return either<mlir::arith::AddFOp, mlir::arith::AddIOp>(a, b);
  }
  mlir::Value subtract(mlir::Value a, mlir::Value b) const {
    return either<mlir::arith::SubFOp, mlir::arith::SubIOp>(a, b);
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) const {
    return either<mlir::arith::MulFOp, mlir::arith::MulIOp>(a, b);
  }
  template <typename FloatOp, typename IntegerOp>
  mlir::Value either(mlir::Value a, mlir::Value b) const {
    return isFloat(a) ? make<FloatOp>(a, b) : make<IntegerOp>(a, b);
  }
  static bool isFloat(mlir::Value value) {
    return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value));
  }

  // These take floats.
  mlir::Value divide(mlir::Value a, mlir::Value b) const {
    return make<mlir::arith::DivFOp>(a, b);
  }
  mlir::Value negate(mlir::Value a) const {
    return make<mlir::arith::NegFOp>(a);
  }
  mlir::Value scale(double factor, mlir::Value a) const {
    return multiply(a, number(factor, a));
  }
  mlir::Value squareRoot(mlir::Value a) const {
    return make<mlir::math::SqrtOp>(a);
  }
  mlir::Value exponential(mlir::Value a) const {
    return make<mlir::math::ExpOp>(a);
  }
  mlir::Value logarithm(mlir::Value a) const {
    return make<mlir::math::LogOp>(a);
  }
  mlir::Value power(mlir::Value base, mlir::Value exponent) const {
    return make<mlir::math::PowFOp>(base, exponent);
  }
  mlir::Value absolute(mlir::Value a) const {
    return make<mlir::math::AbsFOp>(a);
  }
  mlir::Value floor(mlir::Value a) const {
    return make<mlir::math::FloorOp>(a);
  }
  mlir::Value ceiling(mlir::Value a) const {
    return make<mlir::math::CeilOp>(a);
  }
  mlir::Value sine(mlir::Value a) const { return make<mlir::math::SinOp>(a); }
  mlir::Value cosine(mlir::Value a) const { return make<mlir::math::CosOp>(a); }
  mlir::Value smaller(mlir::Value a, mlir::Value b) const {
    return make<mlir::arith::MinimumFOp>(a, b);
  }
  mlir::Value larger(mlir::Value a, mlir::Value b) const {
    return make<mlir::arith::MaximumFOp>(a, b);
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

  // Comparisons give booleans, which `select` reads.
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b) const {
    return make<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b) const {
    return make<mlir::arith::CmpIOp>(predicate, a, b);
  }
  mlir::Value less(mlir::Value a, mlir::Value b) const {
    return compare(mlir::arith::CmpFPredicate::OLT, a, b);
  }
  mlir::Value greater(mlir::Value a, mlir::Value b) const {
    return compare(mlir::arith::CmpFPredicate::OGT, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) const {
    return compare(mlir::arith::CmpFPredicate::OEQ, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes,
                     mlir::Value no) const {
    return make<mlir::arith::SelectOp>(condition, yes, no);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace gradus
