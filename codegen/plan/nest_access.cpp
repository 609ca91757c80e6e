// Flattens affine maps to strides and merges dimensions.

#include "codegen/plan/nest_access.h"

using namespace mlir;
using namespace gradus;

bool Linear::isIrregularIn(unsigned dim) const {
  return llvm::any_of(
      terms, [&](auto &term) { return term.first.isFunctionOfDim(dim); });
}

bool Access::isGuardedBy(unsigned dim) const {
  return llvm::any_of(
      guard, [&](auto &condition) { return condition.value.dependsOn(dim); });
}

/// Adds scale * expression to a sum.
static void add(Linear &sum, AffineExpr expression, int64_t scale) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
    sum.offset += scale * number.getValue();
    return;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expression)) {
    sum.strides[dim.getPosition()] += scale;
    return;
  }
  auto both = cast<AffineBinaryOpExpr>(expression);
  if (both.getKind() == AffineExprKind::Add) {
    add(sum, both.getLHS(), scale);
    add(sum, both.getRHS(), scale);
    return;
  }
  auto factor = dyn_cast<AffineConstantExpr>(both.getRHS());
  if (both.getKind() == AffineExprKind::Mul && factor)
    add(sum, both.getLHS(), scale * factor.getValue());
  else
    sum.terms.push_back({expression, scale});
}

/// Whether an expression has no division and no remainder, so that there is
/// nothing to simplify.
static bool isSum(AffineExpr expression) {
  auto both = dyn_cast<AffineBinaryOpExpr>(expression);
  return !both || ((both.getKind() == AffineExprKind::Add ||
                    both.getKind() == AffineExprKind::Mul) &&
                   isSum(both.getLHS()) && isSum(both.getRHS()));
}

static AffineExpr simplified(AffineExpr expression, unsigned dims) {
  return isSum(expression) ? expression
                           : simplifyAffineExpr(expression, dims, 0);
}

Linear gradus::flatten(AffineExpr expression, unsigned dims) {
  Linear sum;
  sum.strides.assign(dims, 0);
  add(sum, simplified(expression, dims), 1);
  return sum;
}

static Access readAccess(mlir::Value buffer, AffineMap map, IntegerSet guard,
                         unsigned dims) {
  auto type = cast<MemRefType>(buffer.getType());
  Access access{buffer,
                type.getElementType(),
                flatten(getAffineConstantExpr(0, map.getContext()), dims),
                {}};
  int64_t stride = 1;
  for (int i = type.getRank() - 1; i >= 0; --i) {
    add(access.place, simplified(map.getResult(i), dims), stride);
    stride *= type.isDynamicDim(i) ? 1 : type.getDimSize(i);
  }
  if (guard)
    for (auto [constraint, equality] :
         llvm::zip(guard.getConstraints(), guard.getEqFlags()))
      access.guard.push_back({flatten(constraint, dims), equality});
  return access;
}

//===-- merging -----------------------------------------------------------===//

/// Whether a region uses the position along a dimension.
static bool asksFor(Region &region, unsigned dim) {
  bool found = false;
  region.walk([&](plan::IndexOp index) { found |= index.getDim() == dim; });
  return found;
}

static bool isFree(const Nest &nest, unsigned dim) {
  auto isIrregular = [&](const Access &a) {
    return a.isGuardedBy(dim) || a.place.isIrregularIn(dim);
  };
  return !nest.isLoop(dim) && !asksFor(nest.map(), dim) &&
         !asksFor(nest.then(), dim) &&
         llvm::none_of(nest.inputs, isIrregular) &&
         llvm::none_of(nest.outputs, isIrregular);
}

static bool stepsAsOne(const Nest &nest, unsigned outer, unsigned inner) {
  auto agrees = [&](const Access &a) {
    return a.place.strides[outer] ==
           a.place.strides[inner] * nest.extents[inner];
  };
  return nest.isReduced(outer) == nest.isReduced(inner) &&
         llvm::all_of(nest.inputs, agrees) &&
         llvm::all_of(nest.outputs, agrees);
}

/// Whether a condition holds at all positions, such as one on channels in a
/// window over rows and columns.
static bool alwaysHolds(const Condition &condition, ArrayRef<int64_t> extents) {
  if (condition.equality || !condition.value.terms.empty())
    return false;
  int64_t least = condition.value.offset;
  for (auto [stride, extent] : llvm::zip(condition.value.strides, extents)) {
    if (stride < 0 && ShapedType::isDynamic(extent))
      return false;
    least += std::min<int64_t>(0, stride) * (extent - 1);
  }
  return least >= 0;
}

static void forgetWhatAlwaysHolds(Nest &nest) {
  for (Access &access : nest.inputs)
    llvm::erase_if(access.guard, [&](const Condition &condition) {
      return alwaysHolds(condition, nest.extents);
    });
}

static void forgetStrides(Nest &nest, unsigned dim) {
  for (Access &access : nest.inputs)
    access.place.strides[dim] = 0;
  for (Access &access : nest.outputs)
    access.place.strides[dim] = 0;
}

static void merge(Nest &nest, unsigned outer, unsigned inner) {
  if (nest.itemDim == int(outer)) {
    nest.itemDim = inner;
    nest.itemLength *= nest.extents[inner];
  }
  nest.extents[inner] *= nest.extents[outer];
  nest.extents[outer] = 1;
  forgetStrides(nest, outer);
}

static void mergeDims(Nest &nest) {
  int inner = -1;
  for (int dim = nest.dims() - 1; dim >= 0; --dim) {
    if (nest.extents[dim] == 1 && dim != nest.itemDim && !nest.isLoop(dim)) {
      forgetStrides(nest, dim);
      continue;
    }
    if (inner >= 0 && stepsAsOne(nest, dim, inner) && isFree(nest, dim) &&
        isFree(nest, inner))
      merge(nest, dim, inner);
    else
      inner = dim;
  }
}

static unsigned loopsAround(plan::NestOp op) {
  unsigned loops = 0;
  for (Operation *around = op->getParentOp();
       isa_and_nonnull<plan::LoopOp>(around); around = around->getParentOp())
    ++loops;
  return loops;
}

Nest gradus::readNest(plan::NestOp op, plan::Split split) {
  Nest nest;
  nest.op = op;
  nest.parallel = op.getParallel().size();
  nest.extents = op.getExtents();
  nest.mapInputs = op.getMapInputs().size();
  for (auto [i, value] : llvm::enumerate(op.getMapInputs()))
    nest.inputs.push_back(
        readAccess(value, op.getInputMap(i), op.getGuard(i), nest.dims()));
  for (auto [i, value] : llvm::enumerate(op.getThenInputs())) {
    unsigned index = nest.mapInputs + i;
    nest.inputs.push_back(readAccess(value, op.getInputMap(index),
                                     op.getGuard(index), nest.dims()));
  }
  for (auto [i, value] : llvm::enumerate(op.getOuts()))
    nest.outputs.push_back(
        readAccess(value, op.getOutputMap(i), {}, nest.dims()));
  for (auto kind : op.getCombine().getAsRange<ReductionAttr>())
    nest.combine.push_back(kind.getValue());
  nest.itemDim = split == plan::Split::serial ? -1 : 0;
  nest.loops = loopsAround(op);
  forgetWhatAlwaysHolds(nest);
  if (split != plan::Split::flat)
    mergeDims(nest);
  // A nest inside loops runs at one position of each.
  for (unsigned dim = 1; dim <= nest.loops; ++dim)
    nest.extents[dim] = 1;
  return nest;
}
