// Means and sums of the samples of one rank; see loss_ranks.h.

#include "passes/model/loss_ranks.h"

using namespace mlir;
using namespace gradus;

Value gradus::sharedCount(const Arithmetic &math, Value own, LossRanks ranks) {
  if (ranks.mean == LossMean::global)
    return meanOverRanks(math, own, ranks.count);
  return math.select(math.greater(own, math.number(0, own)), own,
                     math.number(1, own));
}

Value gradus::scaleToAll(const Arithmetic &math, Value mean, Value own,
                         LossRanks ranks) {
  Value wide =
      convert(math.builder, math.loc, mean, tensorType(own).getElementType());
  Value zero = math.number(0, own), counts = math.greater(own, zero);
  if (ranks.mean == LossMean::global) {
    Value shared = meanOverRanks(math, own, ranks.count);
    wide = math.multiply(wide, math.divide(own, shared));
    counts = math.make<arith::OrIOp>(counts, math.equal(shared, zero));
  }
  return convert(math.builder, math.loc, math.select(counts, wide, zero),
                 tensorType(mean).getElementType());
}

Value gradus::timesRanks(const Arithmetic &math, Value value, Value ranks) {
  return math.multiply(value, convert(math.builder, math.loc, ranks,
                                      tensorType(value).getElementType()));
}
