// Counts at some of the items, and at some positions of loops whose inner loops
// depend on them.

#include "codegen/plan/kernel_work.h"

#include "codegen/plan/nest.h"
#include "codegen/plan/nest_access.h"
#include "codegen/plan/nest_cost.h"

#include <algorithm>

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LoopOp;
using plan::NestOp;

namespace {

/// Elements that lie apart are loaded and stored one by one, where others are
/// moved by as many as a vector has.
constexpr double kApart = 16;

/// The operations of an access, one element of a vector along a dimension.
double accessCost(const Access &access, unsigned dim) {
  return access.hasStride(dim, 0) || access.hasStride(dim, 1) ? 1 : kApart;
}

double accessCosts(ArrayRef<Access> accesses, unsigned dim) {
  double cost = 0;
  for (const Access &access : accesses)
    cost += accessCost(access, dim);
  return cost;
}

bool isScaled(Value value) {
  return value.getDefiningOp<arith::MulFOp>() && value.hasOneUse();
}

/// The operations of a region for a point.
double arithmeticOf(Region &region) {
  if (region.empty())
    return 0;
  double work = double(costOf(region).work);
  for (Operation &op : region.front())
    if (isa<arith::AddFOp, arith::SubFOp>(op) &&
        (isScaled(op.getOperand(0)) || isScaled(op.getOperand(1))))
      --work; // it is one with the multiplication
  return work;
}

/// The op that multiplies what a nest sums; null: it sums no products.
Operation *productOf(NestOp nest) {
  if (nest.getCombine().size() != 1 ||
      cast<ReductionAttr>(nest.getCombine()[0]).getValue() != Reduction::sum)
    return nullptr;
  Operation *made =
      nest.getMap().front().getTerminator()->getOperand(0).getDefiningOp();
  return isa_and_nonnull<arith::MulFOp, plan::DotPairsOp>(made) ? made
                                                                : nullptr;
}

/// The dimension along which vectors have their elements.
unsigned vectorDim(const Nest &nest) {
  unsigned dim = nest.parallel - 1;
  while (dim > nest.loops && nest.extents[dim] == 1)
    --dim;
  return dim;
}

SmallVector<int64_t> valuesAt(AffineMap map, ArrayRef<int64_t> positions) {
  Builder builder(map.getContext());
  SmallVector<Attribute> at, folded;
  for (int64_t position : positions)
    at.push_back(builder.getIndexAttr(position));
  SmallVector<int64_t> values;
  if (succeeded(map.constantFold(at, folded)))
    for (Attribute value : folded)
      values.push_back(cast<IntegerAttr>(value).getInt());
  return values;
}

/// Whether a loop inside of `block` asks a dimension for its range.
bool isAsked(Block &block, unsigned dim) {
  auto found = block.walk([&](LoopOp loop) {
    return loop.getFirst().isFunctionOfDim(dim) ||
                   loop.getEnd().isFunctionOfDim(dim)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return found.wasInterrupted();
}

class Counter {
public:
  explicit Counter(KernelOp kernel) : kernel_(kernel) {}

  KernelWork run() {
    over(kernel_.getBody().front(), 0, kernel_.getItems(), 1);
    return work_;
  }

private:
  /// Counts a block at `count` positions from `first` on. One position stands
  /// for all unless the ranges of loops in the block depend on it. If they do
  /// and there are many positions, a few stand for all: multiples of the golden
  /// ratio spread these without a period, as work that recurs every few
  /// positions would be misjudged by samples at regular distances.
  void over(Block &block, int64_t first, int64_t count, double times) {
    constexpr double golden = 0.6180339887498949;
    const int64_t most = std::max(2, 16 >> positions_.size());
    bool isAll = count <= most,
         isSame = !isAsked(block, unsigned(positions_.size()));
    int64_t samples = isSame ? 1 : std::min(count, most);
    for (int64_t sample = 0; sample < samples; ++sample) {
      double part = golden * double(sample + 1);
      positions_.push_back(
          first + (isAll || isSame
                       ? sample
                       : int64_t((part - int64_t(part)) * double(count))));
      each(block, times * double(count) / double(samples));
      positions_.pop_back();
    }
  }

  void each(Block &block, double times) {
    for (Operation &op : block)
      if (auto nest = dyn_cast<NestOp>(op))
        add(nest, times);
      else if (auto loop = dyn_cast<LoopOp>(op))
        enter(loop, times);
  }

  void enter(LoopOp loop, double times) {
    Block &body = loop.getBody().front();
    if (loop.getAt())
      return over(body, 0, 1, times);
    SmallVector<int64_t> firsts = valuesAt(loop.getFirst(), positions_),
                         ends = valuesAt(loop.getEnd(), positions_);
    if (firsts.empty() || ends.empty())
      return;
    int64_t first = *llvm::max_element(firsts),
            count = *llvm::min_element(ends) - first;
    if (count > 0)
      over(body, first, count, times);
  }

  void add(NestOp op, double times) {
    auto [known, isNew] = nests_.try_emplace(op);
    if (isNew)
      known->second = once(op);
    work_.flops += times * known->second.flops;
    work_.pairFlops += times * known->second.pairFlops;
    work_.operations += times * known->second.operations;
  }

  /// The work of a nest for one item, at one position of the loops around it.
  KernelWork once(NestOp op) {
    Nest nest = readNest(op, kernel_.getSplit());
    unsigned dim = vectorDim(nest);
    ArrayRef<Access> inputs = nest.inputs;
    std::vector<Access> read; // behind the sums
    for (unsigned input = nest.mapInputs; input < inputs.size(); ++input)
      if (!nest.isAsked(input))
        read.push_back(inputs[input]);
    double points =
               double(product(op.getParallel().drop_front(positions_.size()))),
           sums = points * double(product(op.getReduced()));
    KernelWork work;
    work.operations =
        points * (arithmeticOf(op.getThen()) + accessCosts(read, dim) +
                  accessCosts(nest.outputs, dim));
    Operation *multiplied = productOf(op);
    if (!multiplied && nest.hasReduction())
      work.operations +=
          sums * (arithmeticOf(op.getMap()) + double(nest.combine.size()) +
                  accessCosts(inputs.take_front(nest.mapInputs), dim));
    else if (isa_and_nonnull<plan::DotPairsOp>(multiplied))
      work.pairFlops = 4 * sums;
    else if (multiplied)
      work.flops = (multiplied->getResult(0).getType().isF64() ? 4 : 2) * sums;
    return work;
  }

  KernelOp kernel_;
  SmallVector<int64_t> positions_; // of the item, and of the loops around
  DenseMap<Operation *, KernelWork> nests_;
  KernelWork work_;
};

} // namespace

std::optional<KernelWork> workOf(KernelOp kernel) {
  if (!kernel.getMultiplies())
    return std::nullopt;
  return Counter(kernel).run();
}

} // namespace gradus
