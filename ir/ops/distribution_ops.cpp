// Collectives: verification, gradients, what one rank computes, and what none
// needs; and the selection of what is sent.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gradus;

static LogicalResult verifyGather(AllReduceOp op, GroupsAttr groups) {
  if (groups.getWithin() != 1)
    return op.emitOpError("gathers groups of ")
           << groups.getWithin() << " ranks, expected 1";
  for (Type type : op.getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() == 0)
      return op.emitOpError("gathers ")
             << type << ", expected a first axis that counts ranks";
    if (tensor.getNumElements() == 0)
      continue;
    int64_t bytes = tensor.getNumElements() / tensor.getDimSize(0) *
                    tensor.getElementTypeBitWidth() / 8;
    if (bytes % 64 != 0)
      return op.emitOpError("gathers parts of ")
             << bytes << " bytes, expected a multiple of 64";
  }
  return success();
}

static LogicalResult verifyGroups(AllReduceOp op, GroupsAttr groups) {
  if (groups.getWithin() < 0)
    return op.emitOpError("has groups of ")
           << groups.getWithin() << " ranks, expected at least 1, or 0";
  if (double epsilon = groups.getEpsilon().getValueAsDouble(); !(epsilon >= 0))
    return op.emitOpError("has the epsilon ")
           << epsilon << ", expected a number from 0 on";
  if (groups.getAcross() == AcrossGroups::gather)
    return verifyGather(op, groups);
  Type first = getElementTypeOrSelf(op.getOperand(0));
  for (Type type : op.getOperandTypes())
    if (Type element = getElementTypeOrSelf(type);
        element != first || (!element.isF32() && !element.isF64()))
      return op.emitOpError("combines ")
             << element << " in groups, expected f32 alone or f64 alone";
  return success();
}

static LogicalResult verifyParts(AllReduceOp op, PartsAttr parts) {
  if (op.getGroups())
    return op.emitOpError("has groups and parts, expected one of them");
  if (parts.getRanks() < 1 || parts.getUnit() < 1)
    return op.emitOpError("has parts of ")
           << parts.getRanks() << " ranks in multiples of " << parts.getUnit()
           << " elements, expected at least 1 of both";
  for (Type type : op.getOperandTypes())
    if (Type element = getElementTypeOrSelf(type); !isa<FloatType>(element))
      return op.emitOpError("has parts of ") << element << ", expected floats";
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getOperands().empty())
    return emitOpError("has no operands, expected at least one");
  if (getOperands().getTypes() != getResults().getTypes())
    return emitOpError("has results of other types than its operands");
  for (Type type : getOperands().getTypes())
    if (Type element = cast<RankedTensorType>(type).getElementType();
        !gathers() && !isa<FloatType>(element) &&
        !element.isSignlessInteger(64))
      return emitOpError("sums ") << element << ", expected floats or i64";
  if (auto groups = getGroups())
    if (failed(verifyGroups(*this, *groups)))
      return failure();
  if (auto parts = getParts())
    if (failed(verifyParts(*this, *parts)))
      return failure();
  if (auto names = getOf(); names && names->size() != getNumOperands())
    return emitOpError("names ") << names->size() << " parameters for "
                                 << getNumOperands() << " operands";
  return success();
}

StringRef AllReduceOp::getParameter(unsigned operand) {
  auto names = getOf();
  return names ? cast<StringAttr>((*names)[operand]).getValue() : StringRef();
}

void AllReduceOp::setParameters(ArrayRef<StringRef> names) {
  bool any = llvm::any_of(names, [](StringRef name) { return !name.empty(); });
  setOfAttr(any ? Builder(getContext()).getStrArrayAttr(names) : ArrayAttr());
}

namespace {

/// Leaves out operands whose sums nothing uses, such as those of a backward
/// pass that gradient freezing has cut. The program is the same on every rank,
/// so all of them leave them out. Operands that are one vector stay together:
/// each has a part in what the others become.
struct DropUnused : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> used;
    SmallVector<StringRef> names;
    for (OpResult result : op.getResults())
      if (!result.use_empty()) {
        used.push_back(op.getOperand(result.getResultNumber()));
        names.push_back(op.getParameter(result.getResultNumber()));
      }
    auto groups = op.getGroups();
    bool isOneVector =
        groups && groups->getAcross() == AcrossGroups::adasum_of_all;
    if (used.size() == op.getNumOperands() || (isOneVector && !used.empty()))
      return failure();
    if (used.empty()) {
      rewriter.eraseOp(op);
      return success();
    }
    auto sums = AllReduceOp::create(rewriter, op.getLoc(), used);
    sums.setAxis(op.getAxis());
    sums.setParameters(names);
    sums.setGroupsAttr(op.getGroupsAttr());
    sums.setPartsAttr(op.getPartsAttr());
    unsigned next = 0;
    for (OpResult result : op.getResults())
      if (!result.use_empty())
        rewriter.replaceAllUsesWith(result, sums.getResult(next++));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void AllReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropUnused>(context);
}

/// An operand is in the losses of all ranks, so it gets the sum of their
/// gradients.
SmallVector<Value> AllReduceOp::pullback(OpBuilder &builder, ValueRange g) {
  if (!isWhole()) {
    emitOpError("has no gradient, as it combines groups or parts");
    return SmallVector<Value>(g.size());
  }
  SmallVector<Value> known;
  for (Value gradient : g)
    if (gradient)
      known.push_back(gradient);
  auto sums = AllReduceOp::create(builder, getLoc(), known);
  sums.setAxis(getAxis());
  SmallVector<Value> gradients;
  unsigned next = 0;
  for (Value gradient : g)
    gradients.push_back(gradient ? sums.getResult(next++) : Value());
  return gradients;
}

FailureOr<SmallVector<HostTensor>>
AllReduceOp::evaluate(ArrayRef<HostTensor> operands) {
  return SmallVector<HostTensor>(operands);
}

/// The bytes that a rank sends for each that it has: it sends all but its own
/// part, and then its part of the results to all others.
static double sentOf(double ranks) { return 2 * (ranks - 1) / ranks; }

/// The same of groups that combine in pairs, on average. Those that are too
/// many for a power of two send half, then their half of the result, to
/// another, which sends half and at last all of it back.
static double sentAcross(int64_t groups) {
  int64_t power = llvm::bit_floor(uint64_t(groups));
  double extra = groups - power;
  return (power * sentOf(power) + extra * 2.5) / groups;
}

double AllReduceOp::getSentBytes(int64_t ranks) {
  double bytes = 0;
  for (Type type : getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes +=
        double(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8;
  }
  auto groups = getGroups();
  if (!groups)
    return bytes * sentOf(ranks) / (getParts() ? 2 : 1);
  if (gathers())
    return bytes * sentOf(ranks) / 2;
  int64_t within = groups->getWithin();
  within = within == 0 ? ranks : std::min(within, ranks);
  double sent = sentOf(within);
  if (groups->getAcross() != AcrossGroups::nothing)
    sent += sentAcross(ranks / within) / within;
  return bytes * sent;
}

/// A message has elements of one type. What all tensors decide together is of
/// those of one op.
bool AllReduceOp::mayJoin(Operation *other) {
  auto sum = dyn_cast<AllReduceOp>(other);
  return sum && sum.getAxis() == getAxis() &&
         sum.getGroupsAttr() == getGroupsAttr() &&
         sum.getPartsAttr() == getPartsAttr() &&
         !(getGroups() &&
           getGroups()->getAcross() == AcrossGroups::adasum_of_all) &&
         getElementTypeOrSelf(sum.getOperand(0)) ==
             getElementTypeOrSelf(getOperand(0));
}

/// Checks that parts of one tensor on all ranks have its elements.
static LogicalResult verifyPartOf(Operation *op, Type whole, Type part,
                                  int64_t ranks) {
  auto all = cast<RankedTensorType>(whole), own = cast<RankedTensorType>(part);
  if (all.getElementType() != own.getElementType() || own.getRank() != 1)
    return op->emitOpError("expected a part with one dimension of ")
           << all.getElementType() << ", found " << own;
  int64_t bytes = own.getElementTypeBitWidth() / 8;
  if (ranks < 1 || bytes == 0 || own.getNumElements() * bytes % 64)
    return op->emitOpError("expected parts of whole multiples of 64 bytes for "
                           "at least 1 rank, found ")
           << own << " for " << ranks;
  if (own.getNumElements() < (all.getNumElements() + ranks - 1) / ranks)
    return op->emitOpError("has a part of ")
           << own.getNumElements() << " elements, and " << ranks
           << " of them are fewer than the " << all.getNumElements()
           << " of the whole";
  return success();
}

LogicalResult PartOp::verify() {
  return verifyPartOf(*this, getInput().getType(), getType(), getRanks());
}

LogicalResult WholeOp::verify() {
  return verifyPartOf(*this, getType(), getInput().getType(), getRanks());
}

/// The evaluator is the first rank: it has the first elements, and zeros for
/// what is undefined.
static SmallVector<HostTensor> firstElements(RankedTensorType type,
                                             const HostTensor &from) {
  HostTensor result = zeros(type);
  auto copy = [](auto &to, const auto &values) {
    std::copy_n(values.begin(), std::min(to.size(), values.size()), to.begin());
  };
  copy(result.floats, from.floats);
  copy(result.integers, from.integers);
  return {result};
}

FailureOr<SmallVector<HostTensor>>
PartOp::evaluate(ArrayRef<HostTensor> operands) {
  return firstElements(cast<RankedTensorType>(getType()), operands[0]);
}

FailureOr<SmallVector<HostTensor>>
WholeOp::evaluate(ArrayRef<HostTensor> operands) {
  return firstElements(cast<RankedTensorType>(getType()), operands[0]);
}

//===-- the selection of what is sent -------------------------------------===//

LogicalResult SelectLargestOp::verify() {
  RankedTensorType input = getInput().getType(),
                   indices = getIndices().getType(),
                   values = getValues().getType();
  Type element = input.getElementType();
  if (input.getRank() != 1 || (!element.isF32() && !element.isF64()))
    return emitOpError("selects of ")
           << input << ", expected one axis of f32 or f64";
  if (input.getDimSize(0) > std::numeric_limits<int32_t>::max())
    return emitOpError("selects of ")
           << input.getDimSize(0) << " elements, expected indices of i32";
  if (indices.getShape() != values.getShape() || indices.getRank() != 1 ||
      values.getElementType() != element)
    return emitOpError("has the results ")
           << indices << " and " << values << ", expected as many of one axis, "
           << "values of " << element;
  if (values.getDimSize(0) > input.getDimSize(0))
    return emitOpError("selects ") << values.getDimSize(0) << " of "
                                   << input.getDimSize(0) << " elements";
  if (Value threshold = getThreshold();
      threshold && threshold.getType() != RankedTensorType::get({}, element))
    return emitOpError("has a threshold of the type ")
           << threshold.getType() << ", expected "
           << RankedTensorType::get({}, element);
  return success();
}

/// Whether a number comes before another: a NaN before all that are none.
static bool isLarger(double one, double other) {
  if (std::isnan(other))
    return false;
  return std::isnan(one) || std::fabs(one) > std::fabs(other);
}

FailureOr<SmallVector<HostTensor>>
SelectLargestOp::evaluate(ArrayRef<HostTensor> operands) {
  const auto &numbers = operands[0].floats;
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < operands[0].size(); ++i)
    if (operands.size() == 1 || !isLarger(operands[1].floats[0], numbers[i]))
      order.push_back(i);
  llvm::stable_sort(order, [&](int64_t one, int64_t other) {
    return isLarger(numbers[one], numbers[other]);
  });
  HostTensor indices = zeros(getIndices().getType()),
             values = zeros(getValues().getType());
  order.truncate(std::min<size_t>(order.size(), indices.size()));
  llvm::sort(order);
  llvm::fill(indices.integers, operands[0].size());
  for (auto [to, from] : llvm::enumerate(order)) {
    indices.integers[to] = from;
    values.floats[to] = numbers[from];
  }
  return SmallVector<HostTensor>{indices, values};
}
