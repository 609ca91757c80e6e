// Means and sums of the samples of one rank; see loss_ranks.h.

#include "passes/model/loss_ranks.h"

#include "ir/gradient_ops.h"
#include "passes/deferred_factor.h"

using namespace mlir;
using namespace gradus;

/// Whether what counts on all ranks is not known when gradients are computed.
static bool waits(LossRanks ranks) {
  return ranks.inTurn && ranks.mean == LossMean::global;
}

/// A part that is a mean over all labels of this rank, counted or not, as one
/// of the mean over what counts.
static Value ofAllThatCounts(const Arithmetic &math, Value part,
                             const Counted &counted, LossRanks ranks) {
  Value shared = meanOverRanks(math, counted.own, ranks.count);
  Value factor = math.divide(math.number(counted.labels, shared), shared);
  return deferFactor(math, part,
                     convert(math.builder, math.loc, factor,
                             tensorType(part).getElementType()));
}

Value gradus::meanOfTerms(const Arithmetic &math, Value total,
                          const Counted &counted, LossRanks ranks) {
  Value own = counted.own;
  if (!ranks.count)
    return math.divide(total, own);
  if (waits(ranks))
    return ofAllThatCounts(math, math.scale(1.0 / counted.labels, total),
                           counted, ranks);
  if (ranks.mean == LossMean::global)
    return math.divide(total, meanOverRanks(math, own, ranks.count));
  Value any = math.greater(own, math.number(0, own));
  return math.divide(total, math.select(any, own, math.number(1, own)));
}

Value gradus::scaleToAll(const Arithmetic &math, Value mean,
                         const Counted &counted, LossRanks ranks) {
  Value own = counted.own;
  Type narrow = tensorType(mean).getElementType();
  Value wide =
      convert(math.builder, math.loc, mean, tensorType(own).getElementType());
  Value zero = math.number(0, own), counts = math.greater(own, zero);
  if (waits(ranks)) {
    wide = math.multiply(wide, math.scale(1.0 / counted.labels, own));
    Value part = convert(math.builder, math.loc,
                         math.select(counts, wide, zero), narrow);
    return ofAllThatCounts(math, part, counted, ranks);
  }
  if (ranks.mean == LossMean::global) {
    Value shared = meanOverRanks(math, own, ranks.count);
    wide = math.multiply(wide, math.divide(own, shared));
    counts = math.make<arith::OrIOp>(counts, math.equal(shared, zero));
  }
  return convert(math.builder, math.loc, math.select(counts, wide, zero),
                 narrow);
}

Value gradus::timesRanks(const Arithmetic &math, Value value, LossRanks ranks) {
  Value count = convert(math.builder, math.loc, ranks.count,
                        tensorType(value).getElementType());
  Value times = math.multiply(value, count);
  if (!ranks.haveOwnWeights)
    return times;
  return StopGradientOp::create(math.builder, math.loc, times,
                                /*substitute=*/value);
}
