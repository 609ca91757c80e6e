// Kernels of ops with indices that are known at run time: one op each, divided
// by the slices that it writes.

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/plan/nest_cost.h"

#include "ir/gather_sizes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;

namespace {

/// The number of slices of the result and their size.
struct Slices {
  int64_t count, bytes;
};

Slices slicesOf(plan::TakeOp op) {
  GatherSizes sizes(shapeOf(op.getSource()), shapeOf(op.getIndices()),
                    op.getAxis(), op.getBatchDims());
  int64_t count = sizes.batch * sizes.outer * sizes.count;
  return {count,
          bytesOf(op.getResult().getType()) / std::max<int64_t>(1, count)};
}

Slices slicesOf(plan::AddAtOp op) {
  GatherSizes sizes(op.getOutType().getShape(), shapeOf(op.getIndices()),
                    op.getAxis(), op.getBatchDims());
  int64_t count = sizes.batch * sizes.outer * sizes.extent;
  return {count,
          bytesOf(op.getResult().getType()) / std::max<int64_t>(1, count)};
}

MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

template <typename Op> KernelOp kernelOf(Op op, int64_t items) {
  OpBuilder builder(op.getContext());
  Location location = builder.getUnknownLoc();
  SmallVector<Type> types = {bufferType(op.getSource().getType()),
                             bufferType(op.getIndices().getType()),
                             bufferType(op.getResult().getType())};
  auto kernel = KernelOp::create(
      builder, location, "kernel", builder.getFunctionType(types, {}), 2,
      plan::Split::rows, items, ArrayAttr(), ArrayAttr(), StringAttr());
  Block *body = builder.createBlock(&kernel.getBody());
  body->addArguments(types, SmallVector<Location>(types.size(), location));
  Op::create(builder, location, Type(), body->getArgument(0),
             body->getArgument(1), body->getArgument(2), op.getAxis(),
             op.getBatchDims());
  plan::EndOp::create(builder, location);
  return kernel;
}

/// For sums each block scans all indices, so there are no more blocks than keep
/// threads busy.
template <typename Op>
plan::LaunchOp launch(Op op, StringRef label, int64_t mostBlocks,
                      int64_t blockBytes, KernelTable &kernels) {
  Slices slices = slicesOf(op);
  KernelOp kernel = kernels.add(kernelOf(op, slices.count), label);
  int64_t grain =
      std::max(llvm::divideCeil(blockBytes, std::max<int64_t>(1, slices.bytes)),
               llvm::divideCeil(slices.count, mostBlocks));
  OpBuilder builder(op);
  SmallVector<Value> operands = {op.getSource(), op.getIndices()};
  auto made = plan::LaunchOp::create(
      builder, op.getLoc(), TypeRange{op.getResult().getType()},
      kernel.getSymName(), operands, ArrayRef<int64_t>{slices.count},
      std::clamp<int64_t>(grain, 1, std::max<int64_t>(1, slices.count)),
      ArrayRef<int64_t>{-1}, 0, builder.getStringAttr(label));
  op.getResult().replaceAllUsesWith(made.getResult(0));
  op.erase();
  return made;
}

} // namespace

plan::LaunchOp outlineIndexed(Operation *op, KernelTable &kernels,
                              const FormKernelsOptions &options) {
  return llvm::TypeSwitch<Operation *, plan::LaunchOp>(op)
      .Case([&](plan::TakeOp take) {
        return launch(take, "gather", options.mostBlocks, options.movedBytes,
                      kernels);
      })
      .Case([&](plan::AddAtOp add) {
        return launch(add, "scatter_add", options.mostBlocks / 2,
                      options.movedBytes, kernels);
      });
}

} // namespace gradus
