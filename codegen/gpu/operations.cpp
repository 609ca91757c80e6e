// A nest executes its regions and its accesses at each point.

#include "codegen/gpu/operations.h"

#include "codegen/gpu/indexing.h"
#include "codegen/gpu/vectors.h"
#include "codegen/plan/nest_access.h"
#include "ir/scalar_ops.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradus;

/// The instructions of a division, a root or an exponential.
static constexpr uint64_t kLong = 8;
/// The instructions of dividing a position by a constant, or of the remainder.
static constexpr uint64_t kDivision = 4;
/// The instructions of a comparison and of the branch around a load.
static constexpr uint64_t kGuard = 2;

static uint64_t operationsOf(Operation &op) {
  const ScalarOp *known = scalarOp(&op);
  if (!known)
    return 0;
  return known->cost >= ScalarCost::division ? kLong : 1;
}

static uint64_t operationsOf(Region &region) {
  uint64_t count = 0;
  if (!region.empty())
    for (Operation &op : region.front())
      count += operationsOf(op);
  return count;
}

/// The instructions of an access's offset and guard: once for a vector of
/// elements if these are regular along it.
static uint64_t positionOf(const Nest &nest, const Access &access) {
  uint64_t count = kDivision * uint64_t(access.place.terms.size()) +
                   kGuard * uint64_t(access.guard.size());
  if (nest.parallel == 0)
    return count;
  unsigned last = nest.parallel - 1;
  bool isOfVector =
      !access.place.isIrregularIn(last) && !access.isGuardedBy(last);
  uint64_t bits = std::max(8u, access.element.getIntOrFloatBitWidth());
  return isOfVector ? llvm::divideCeil(count, kVectorBytes * 8 / bits) : count;
}

static uint64_t operationsOf(const Nest &nest, ArrayRef<Access> accesses) {
  uint64_t count = 0;
  for (const Access &access : accesses)
    count += 1 + positionOf(nest, access);
  return count;
}

/// The number of points of dimensions [first, end); a dynamic one counts as 1.
static uint64_t pointsOf(const Nest &nest, unsigned first, unsigned end) {
  uint64_t points = 1;
  for (unsigned dim = first; dim < end; ++dim)
    if (!ShapedType::isDynamic(nest.extents[dim]))
      points = llvm::SaturatingMultiply(points, uint64_t(nest.extents[dim]));
  return points;
}

static uint64_t operationsOf(const Nest &nest) {
  ArrayRef<Access> inputs(nest.inputs);
  uint64_t points = pointsOf(nest, 0, nest.parallel), reduced = 0;
  if (nest.hasReduction())
    reduced = pointsOf(nest, nest.parallel, nest.dims());
  uint64_t ofMap = operationsOf(nest.map()) + nest.combine.size() +
                   operationsOf(nest, inputs.take_front(nest.mapInputs)),
           ofThen = operationsOf(nest.then()) +
                    operationsOf(nest, inputs.drop_front(nest.mapInputs)) +
                    operationsOf(nest, nest.outputs);
  return llvm::SaturatingMultiply(
      points, llvm::SaturatingMultiplyAdd(reduced, ofMap, ofThen));
}

uint64_t gradus::gpuOperationsOf(plan::KernelOp kernel, const GpuModel &gpu) {
  uint64_t count = 0;
  kernel.walk([&](Operation *op) {
    if (auto nest = dyn_cast<plan::NestOp>(op))
      count = llvm::SaturatingAdd(
          count, operationsOf(readNest(nest, kernel.getSplit())));
    else if (isa<plan::TakeOp, plan::AddAtOp>(op))
      count = llvm::SaturatingAdd(count, indexedOperations(op, gpu));
  });
  return count;
}
