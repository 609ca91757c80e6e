// Bounds the magnitudes of affine expressions by the extents of dimensions, as
// if all terms of a sum had the same sign.

#include "codegen/gpu/width.h"

using namespace mlir;
using namespace gradus;

static constexpr double kMostValue = 0x1p31, kMostCounted = 0x1p30;

/// The largest magnitude among an expression's intermediate values.
static double magnitude(AffineExpr expression, ArrayRef<int64_t> extents) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression))
    return std::abs(double(number.getValue()));
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return double(extents[dim.getPosition()]);
  auto both = cast<AffineBinaryOpExpr>(expression);
  double x = magnitude(both.getLHS(), extents),
         y = magnitude(both.getRHS(), extents);
  return both.getKind() == AffineExprKind::Mul ? x * y : x + y;
}

static double magnitude(const Linear &linear, ArrayRef<int64_t> extents) {
  double sum = std::abs(double(linear.offset));
  for (auto [stride, extent] : llvm::zip(linear.strides, extents))
    sum += std::abs(double(stride)) * double(extent);
  for (auto &[expression, scale] : linear.terms)
    sum +=
        std::max(1.0, std::abs(double(scale))) * magnitude(expression, extents);
  return sum;
}

static double magnitude(const Access &access, ArrayRef<int64_t> extents) {
  double most = magnitude(access.place, extents);
  for (const Condition &condition : access.guard)
    most = std::max(most, magnitude(condition.value, extents));
  return most;
}

static bool fits(const Nest &nest) {
  SmallVector<int64_t> extents(nest.extents);
  for (unsigned dim = 1; dim <= nest.loops; ++dim)
    extents[dim] = plan::NestOp(nest.op).getExtents()[dim];
  auto isSmall = [&](const Access &access) {
    return magnitude(access, extents) < kMostValue;
  };
  return double(parallelPoints(nest)) < kMostCounted &&
         double(reducedPoints(nest)) < kMostCounted &&
         llvm::all_of(nest.inputs, isSmall) &&
         llvm::all_of(nest.outputs, isSmall);
}

/// The limits of a loop depend on the item and the loops around.
static bool fits(plan::LoopOp loop, ArrayRef<int64_t> extents) {
  for (AffineMap map : {loop.getFirst(), loop.getEnd()})
    for (AffineExpr result : map.getResults())
      if (magnitude(result, extents) >= kMostCounted)
        return false;
  return true;
}

bool gradus::fits32Bits(plan::KernelOp kernel, const GpuMapping &mapping) {
  int64_t longest = mapping.items;
  bool fitAll = mapping.items < kMostCounted;
  kernel.walk([&](plan::NestOp op) {
    plan::Split split =
        mapping.isByPoints ? plan::Split::serial : kernel.getSplit();
    for (int64_t extent : op.getExtents())
      longest = std::max(longest, extent);
    fitAll = fitAll && fits(readNest(op, split));
  });
  for (auto scratch : kernel.getBody().getOps<plan::ScratchOp>()) {
    int64_t parts = std::max<int64_t>(mapping.mostBlocks, mapping.groups());
    fitAll &= double(cast<MemRefType>(scratch.getType()).getNumElements()) *
                  double(parts) <
              kMostCounted;
  }
  kernel.walk([&](plan::LoopOp loop) {
    SmallVector<int64_t> extents(loop.getFirst().getNumDims(), longest);
    fitAll = fitAll && fits(loop, extents);
  });
  return fitAll;
}
