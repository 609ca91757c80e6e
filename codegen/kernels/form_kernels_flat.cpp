// Kernels of elementwise nests over whole tensors: their code works for any
// size, and one launch can process several tensors, such as all parameters.

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/nests/fuse_maps.h"
#include "codegen/plan/nest_cost.h"

#include "mlir/IR/Builders.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;
using plan::NestOp;
using plan::Split;

/// Whether a map runs through a tensor of this shape in the domain's order.
static bool isRowMajor(AffineMap map, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> domain) {
  if (product(shape) != product(domain))
    return false;
  auto position =
      AffineMap::getMultiDimIdentityMap(domain.size(), map.getContext());
  return linearised(map, shape) == linearised(position, domain);
}

bool isFlat(NestOp nest) {
  NestParts parts = partsOf(nest);
  if (!nest.isElementwise() || product(parts.parallel) == 1)
    return false;
  bool asksIndex = false;
  nest.getThen().walk([&](plan::IndexOp) { asksIndex = true; });
  auto isWhole = [&](AffineMap map, Value value) {
    return isRowMajor(map, shapeOf(value), parts.parallel);
  };
  auto reads = llvm::all_of(parts.thenReads, [&](const NestRead &read) {
    return !read.isGuarded() &&
           (product(shapeOf(read.value)) == 1 || isWhole(read.map, read.value));
  });
  auto writes = llvm::all_of(
      llvm::zip(parts.outputMaps, nest.getResults()),
      [&](auto pair) { return isWhole(std::get<0>(pair), std::get<1>(pair)); });
  return !asksIndex && reads && writes;
}

bool isUpdate(NestOp nest) {
  return !nest->use_empty() &&
         llvm::all_of(nest->getUsers(), [](Operation *user) {
           return isa<WriteOp>(user) || isa<WholeOp>(user);
         });
}

/// The type in a flat kernel: 1-D of any length, or one element.
static MemRefType flatType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getNumElements() == 1)
    return MemRefType::get({}, type.getElementType());
  return MemRefType::get({ShapedType::kDynamic}, type.getElementType());
}

KernelOp flatKernel(NestOp nest, KernelTable &kernels) {
  MLIRContext *context = nest.getContext();
  OpBuilder builder(context);
  NestParts parts = partsOf(nest);
  SmallVector<Type> types;
  for (Value operand : nest->getOperands())
    types.push_back(flatType(operand));
  for (Value result : nest.getResults())
    types.push_back(flatType(result));
  Location location = UnknownLoc::get(context);
  auto kernel = KernelOp::create(builder, location, "kernel",
                                 builder.getFunctionType(types, {}),
                                 nest->getNumOperands(), Split::flat, 0,
                                 ArrayAttr(), ArrayAttr(), StringAttr());
  Block *body = builder.createBlock(&kernel.getBody());
  body->addArguments(types, SmallVector<Location>(types.size(), location));
  AffineMap line = AffineMap::getMultiDimIdentityMap(1, context);
  auto mapOf = [&](Value memory) {
    return cast<MemRefType>(memory.getType()).getRank()
               ? line
               : AffineMap::get(1, 0, context);
  };
  parts.label.clear();
  parts.parallel = {ShapedType::kDynamic};
  parts.resultTypes.clear();
  for (auto [read, memory] : llvm::zip(parts.thenReads, body->getArguments()))
    read = {memory, mapOf(memory), {}};
  for (BlockArgument memory :
       body->getArguments().drop_front(nest->getNumOperands()))
    parts.outs.push_back(memory);
  parts.outputMaps.assign(parts.outs.size(), line);
  auto copy = [&](OpBuilder &inside, Location, ValueRange values) {
    return copyBody(inside, nest.getThen(), values, nullptr);
  };
  buildNest(builder, location, parts, nullptr, copy);
  plan::EndOp::create(builder, location);
  return kernels.add(kernel, "flat_" + labelOf(nest).str());
}

/// The items of a block: enough to move `movedBytes`, in whole cache lines.
static int64_t flatGrain(NestOp nest, int64_t movedBytes) {
  int64_t bytes = 0;
  for (Value value : nest->getOperands())
    bytes += product(shapeOf(value)) > 1 ? bytesOf(value.getType()) : 0;
  for (Type type : nest.getResultTypes())
    bytes += bytesOf(type);
  int64_t perItem = std::max<int64_t>(1, bytes / product(nest.getParallel()));
  return llvm::alignTo(std::max<int64_t>(1, movedBytes / perItem), 64);
}

SmallVector<int64_t> flatInplace(NestOp nest, const Readings &readings) {
  SmallVector<int64_t> taken(nest->getNumResults(), -1);
  for (bool sameState : {true, false})
    for (auto [r, result] : llvm::enumerate(nest.getResults()))
      for (auto [o, operand] : llvm::enumerate(nest->getOperands()))
        if (taken[r] < 0 && !llvm::is_contained(taken, int64_t(o)) &&
            operand.getType() == result.getType() &&
            !operand.getDefiningOp<arith::ConstantOp>() &&
            !isPartOfState(operand) &&
            readings.lookup(viewedBy(operand)) == 1 &&
            (!sameState || isNewValueOf(result, operand)))
          taken[r] = o;
  return taken;
}

std::string updateLabel(NestOp nest) {
  std::string label = labelOf(nest).str();
  for (Operation *user : nest->getUsers())
    if (auto write = dyn_cast<WriteOp>(user)) {
      label = "update";
      if (write.getState().contains('/'))
        return write.getState().split('/').first.str();
    }
  return label;
}

/// "sgd x10".
static std::string flatLabel(ArrayRef<NestOp> nests) {
  std::string label = updateLabel(nests.front());
  return nests.size() == 1 ? label
                           : label + " x" + std::to_string(nests.size());
}

LaunchOp outlineFlat(KernelOp kernel, ArrayRef<NestOp> nests,
                     const FormKernelsOptions &options) {
  Readings readings;
  SmallVector<Value> operands, results;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  SmallVector<int64_t> items, inplace;
  int64_t flops = 0;
  for (NestOp nest : nests)
    for (Value operand : nest->getOperands())
      ++readings[viewedBy(operand)];
  for (NestOp nest : nests) {
    for (int64_t operand : flatInplace(nest, readings))
      inplace.push_back(operand < 0 ? -1 : int64_t(operands.size()) + operand);
    llvm::append_range(operands, nest->getOperands());
    llvm::append_range(results, nest.getResults());
    llvm::append_range(types, nest->getResultTypes());
    locations.push_back(nest.getLoc());
    items.push_back(product(nest.getParallel()));
    flops += costOf(nest).flops;
  }
  NestOp last = nests.back();
  OpBuilder builder(last);
  auto launch = LaunchOp::create(
      builder, FusedLoc::get(builder.getContext(), locations), types,
      kernel.getSymName(), operands, items, flatGrain(last, options.movedBytes),
      inplace, flops, builder.getStringAttr(flatLabel(nests)));
  for (auto [old, value] : llvm::zip(results, launch.getResults()))
    old.replaceAllUsesWith(value);
  for (NestOp nest : nests)
    nest.erase();
  return launch;
}

} // namespace gradus
