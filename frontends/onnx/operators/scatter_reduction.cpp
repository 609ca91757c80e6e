// Compares each index with every update: [L, P, J, R] comparisons, which fusion
// never stores. No result depends on an order of writes.

#include "frontends/onnx/operators/scatter_reduction.h"

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/operators/norms.h"

#include <limits>

namespace gradus::onnx {

using namespace mlir;

/// The neutral element of a reduction.
static double neutralOf(const std::string &reduction) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (reduction == "mul")
    return 1;
  return reduction == "max" ? -infinity : infinity;
}

/// A mask [L, P, J, R] of the updates `j` that go to index `p`.
static Value meets(const Building &b, Value indices, ArrayRef<int64_t> wide) {
  Value index = castTo(b, indices, b.builder.getI64Type());
  Value fromEnd = b.add(index, b.number(wide[1], index));
  Value isNegative =
      b.compare(arith::CmpIPredicate::slt, index, b.number(0, index));
  index = b.select(isNegative, fromEnd, index);
  return b.compare(arith::CmpIPredicate::eq,
                   broadcast(b.builder, b.loc, index, wide, {0, 2, 3}),
                   b.indicesAlong(wide, 1));
}

/// The old element and all updates that go to its index, J + 1 elements.
static Value candidates(const Building &b, const std::string &reduction,
                        Value data, Value indices, Value updates) {
  ArrayRef<int64_t> at = tensorType(data).getShape();
  SmallVector<int64_t> wide = {at[0], at[1], tensorType(updates).getDimSize(1),
                               at[2]};
  Value all = broadcast(b.builder, b.loc, updates, wide, {0, 2, 3});
  Value neutral = b.number(neutralOf(reduction), all);
  Value coming = b.select(meets(b, indices, wide), all, neutral);
  Value there = b.shaped(data, {at[0], at[1], 1, at[2]});
  ++wide[2];
  return b.make<ConcatenateOp>(tensorType(data).clone(wide),
                               ArrayRef<Value>{there, coming}, 2);
}

absl::StatusOr<Value> scatterReduced(const Building &b,
                                     const std::string &reduction, Value data,
                                     Value indices, Value updates) {
  constexpr int64_t kMost = int64_t(1) << 32;
  SmallVector<int64_t> wide(tensorType(data).getShape());
  wide.push_back(tensorType(updates).getDimSize(1) + 1);
  if (!Building::isFloat(data))
    return b.node.error("reduction is \"", reduction,
                        "\"; integers are supported with \"none\" and \"add\"");
  if (!isWithin(wide, kMost))
    return b.node.error("reduction is \"", reduction, "\" of ",
                        tensorType(updates).getDimSize(1),
                        " updates at each of ", wide[1],
                        " places, which are more comparisons than ", kMost);
  Value all = candidates(b, reduction, data, indices, updates);
  Reduction kind = reduction == "max" ? Reduction::max : Reduction::min;
  if (reduction != "mul")
    return reduce(b.builder, b.loc, kind, all, {2});
  return productAlong(b, all, 2);
}

} // namespace gradus::onnx
