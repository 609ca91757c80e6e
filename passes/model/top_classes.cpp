// Counts the classes with larger logits than a label's: the label is among the
// k best if these are fewer than k. No sorting is needed.

#include "passes/model/top_classes.h"

#include "ir/arithmetic.h"

using namespace mlir;
using namespace gradus;

static Value compare(OpBuilder &builder, Location loc, arith::CmpFPredicate how,
                     Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, how, a, b);
}

/// The number of classes that rank before each label's, as a float.
static Value classesBefore(OpBuilder &builder, Location loc, Value logits,
                           Value labels, int64_t axis) {
  Arithmetic math(builder, loc);
  RankedTensorType type = tensorType(logits);
  Value label = broadcastAlong(builder, loc, labels, type.getShape(), axis);
  Value classes = iota(builder, loc, tensorType(label), axis);
  auto integers = [&](arith::CmpIPredicate how) {
    return arith::CmpIOp::create(builder, loc, how, classes, label);
  };
  Value own = sum(builder, loc,
                  math.select(integers(arith::CmpIPredicate::eq), logits,
                              math.number(0, logits)),
                  axis);
  own = broadcastAlong(builder, loc, own, type.getShape(), axis);
  Value larger = compare(builder, loc, arith::CmpFPredicate::UGT, logits, own);
  Value equal = compare(builder, loc, arith::CmpFPredicate::OEQ, logits, own);
  Value first = arith::AndIOp::create(builder, loc, equal,
                                      integers(arith::CmpIPredicate::slt));
  Value before = arith::OrIOp::create(builder, loc, larger, first);
  return sum(builder, loc, convert(builder, loc, before, type.getElementType()),
             axis);
}

Value gradus::buildTopClasses(OpBuilder &builder, Location loc, Value logits,
                              Value labels, int64_t axis, int64_t ignoreIndex,
                              int64_t count) {
  Arithmetic math(builder, loc);
  logits = convert(builder, loc, logits, builder.getF32Type());
  Value before = classesBefore(builder, loc, logits, labels, axis);
  Value among = math.less(before, math.number(count, before));
  Value counted =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, labels,
                            splat(builder, loc, labels.getType(), ignoreIndex));
  auto number = [&](Value condition) {
    Value ones = convert(builder, loc, condition, builder.getF32Type());
    return sum(builder, loc, ones, allAxes(tensorType(ones).getRank()));
  };
  Value hit = arith::AndIOp::create(builder, loc, among, counted);
  return math.divide(number(hit), number(counted));
}
