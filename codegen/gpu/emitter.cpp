// Emits a function for each kernel: its arguments, its scratch, its items, and
// the code for each of them.

#include "codegen/gpu/emitter.h"

#include "codegen/gpu/flat.h"
#include "codegen/gpu/indexing.h"
#include "codegen/gpu/nests.h"
#include "codegen/gpu/operations.h"
#include "codegen/gpu/width.h"
#include "codegen/plan/plan_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gradus;

namespace {

class KernelEmitter {
public:
  KernelEmitter(GpuBuilder &b, plan::KernelOp kernel, const GpuModel &gpu,
                GpuKernel &result)
      : b(b), kernel(kernel), gpu(gpu), result(result) {}
  void emit();

private:
  Operation *indexedOp();
  void chooseWork();
  SmallVector<Type> argumentTypes();
  MemRefType line(Type buffer, int64_t times);
  void createFunction(ArrayRef<Type> arguments);
  void placeScratch();
  void findThread();
  void emitItems();
  void emitItem(Value number);
  void emitOps(Block &block, const GpuItem &item);
  void emitLoop(plan::LoopOp op, const GpuItem &item);
  void synchronize();
  GpuBuffer bufferOf(Value value);

  GpuBuilder &b;
  plan::KernelOp kernel;
  const GpuModel &gpu;
  GpuKernel &result;
  GpuMapping mapping;
  GpuThread thread;
  Value group, block; // number within the block, in the grid
  gpu::GPUFuncOp function;
  std::optional<NestEmitter> nests;
  llvm::DenseMap<Value, GpuBuffer> scratch;
};

} // namespace

//===-- functions ---------------------------------------------------------===//

/// The op of a kernel with indices, which has no other ops; null for others.
Operation *KernelEmitter::indexedOp() {
  for (Operation &op : kernel.getBody().front())
    if (isa<plan::TakeOp, plan::AddAtOp>(op))
      return &op;
  return nullptr;
}

void KernelEmitter::chooseWork() {
  Operation *indexed = indexedOp();
  mapping = indexed ? mapIndexed(indexed, gpu) : chooseMapping(kernel, gpu);
  b.usePositionsOf32Bits(indexed ? indexedFits32Bits(indexed)
                                 : fits32Bits(kernel, mapping));
}

/// The 1-D memref of a buffer's elements, or of those of several like it.
MemRefType KernelEmitter::line(Type buffer, int64_t times) {
  auto type = cast<MemRefType>(buffer);
  return MemRefType::get({type.getNumElements() * times},
                         gpuMemoryType(type.getElementType()),
                         MemRefLayoutAttrInterface(), b.getI64IntegerAttr(1));
}

SmallVector<Type> KernelEmitter::argumentTypes() {
  if (kernel.getSplit() == plan::Split::flat)
    return flatArguments(b.getContext());
  SmallVector<Type> types;
  for (Type type : kernel.getArgumentTypes())
    types.push_back(line(type, 1));
  if (mapping.isScratchShared)
    return types;
  for (auto op : kernel.getBody().getOps<plan::ScratchOp>()) {
    MemRefType type = line(op.getType(), mapping.mostBlocks);
    types.push_back(type);
    result.scratchBytes.push_back(type.getNumElements() *
                                  type.getElementTypeBitWidth() / 8);
  }
  return types;
}

void KernelEmitter::createFunction(ArrayRef<Type> arguments) {
  function = gpu::GPUFuncOp::create(b, kernel.getSymName(),
                                    b.getFunctionType(arguments, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(result.threads), 1, 1}));
  // Left to itself, ptxas spills a few bytes for the sake of a ninth block;
  // two have 128 registers a thread.
  function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(gpu.blocksEach));
  b.setInsertionPointToEnd(&function.getBody().front());
}

void KernelEmitter::emit() {
  bool isFlat = kernel.getSplit() == plan::Split::flat;
  b.usePositionsOf32Bits(false);
  if (!isFlat)
    chooseWork();
  result.name = kernel.getSymName().str();
  result.threads = mapping.threads;
  result.mostBlocks = isFlat ? 0 : mapping.mostBlocks;
  result.operations = gpuOperationsOf(kernel, gpu);
  result.piece = isFlat ? flatPiece(kernel) : 0;
  createFunction(argumentTypes());
  if (isFlat)
    emitFlat(b, kernel, function);
  else
    emitItems();
  gpu::ReturnOp::create(b);
}

//===-- memory ------------------------------------------------------------===//

/// Each group has its part of shared memory, or each block its part of the
/// device's memory.
void KernelEmitter::placeScratch() {
  unsigned argument = kernel.getNumArguments();
  for (auto op : kernel.getBody().getOps<plan::ScratchOp>()) {
    int64_t elements = cast<MemRefType>(op.getType()).getNumElements();
    Type element = cast<MemRefType>(op.getType()).getElementType();
    if (mapping.isScratchShared)
      scratch[op.getResult()] = {addShared(b, function, gpuMemoryType(element),
                                           elements * mapping.groups()),
                                 mapping.groups() > 1 ? b.mul(group, elements)
                                                      : Value()};
    else
      scratch[op.getResult()] = {function.getArgument(argument++),
                                 b.mul(block, elements)};
  }
}

GpuBuffer KernelEmitter::bufferOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? GpuBuffer{function.getArgument(argument.getArgNumber()), {}}
                  : scratch.lookup(value);
}

//===-- items -------------------------------------------------------------===//

void KernelEmitter::findThread() {
  block = b.position(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  thread.inBlock = b.position(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  thread.group = mapping.group;
  group = b.quotient(thread.inBlock, mapping.group);
  thread.inGroup = b.remainder(thread.inBlock, mapping.group);
  if (mapping.group == mapping.threads) {
    group = b.number(0);
    thread.inGroup = thread.inBlock;
  }
}

void KernelEmitter::emitItems() {
  findThread();
  placeScratch();
  auto buffer = [&](Value value) { return bufferOf(value); };
  nests.emplace(b, function, thread, mapping, buffer);
  Value blocks = b.position(gpu::GridDimOp::create(b, gpu::Dimension::x));
  Value first = b.add(b.mul(block, mapping.groups()), group);
  b.loop(first, b.number(mapping.items), b.mul(blocks, mapping.groups()),
         [&](Value number) { emitItem(number); });
}

void KernelEmitter::emitItem(Value number) {
  emitOps(kernel.getBody().front(), {number, {}, mapping.isByPoints});
}

/// A nest may read what the one before has written: all threads wait for each
/// other after each nest, also before the next item.
void KernelEmitter::emitOps(Block &ops, const GpuItem &item) {
  auto buffer = [&](Value value) { return bufferOf(value); };
  for (Operation &op : ops) {
    if (auto nest = dyn_cast<plan::NestOp>(op)) {
      plan::Split split =
          mapping.isByPoints ? plan::Split::serial : kernel.getSplit();
      nests->emit(readNest(nest, split), item, mapping.nests[nest]);
      synchronize();
    } else if (auto loop = dyn_cast<plan::LoopOp>(op)) {
      emitLoop(loop, item);
    } else if (isa<plan::TakeOp, plan::AddAtOp>(op)) {
      emitIndexed(b, &op, gpu, item.number, function, thread, buffer);
    }
  }
}

void KernelEmitter::emitLoop(plan::LoopOp op, const GpuItem &item) {
  SmallVector<Value> around = {item.number};
  llvm::append_range(around, item.loops);
  Value first = b.limit(op.getFirst(), /*largest=*/true, around);
  Value end = b.limit(op.getEnd(), /*largest=*/false, around);
  b.loop(first, end, b.number(1), [&](Value position) {
    GpuItem inside = item;
    inside.loops.push_back(position);
    emitOps(op.getBody().front(), inside);
  });
}

void KernelEmitter::synchronize() {
  if (mapping.isByPoints || mapping.group == 1)
    return;
  if (mapping.group == mapping.threads && mapping.group > kWarp) {
    gpu::BarrierOp::create(b);
    return;
  }
  Value all = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  NVVM::SyncWarpOp::create(b, all);
}

//===-- modules -----------------------------------------------------------===//

llvm::Expected<GpuCode> gradus::emitGpu(ArrayRef<plan::KernelOp> kernels,
                                        MLIRContext &context,
                                        const GpuModel &gpu) {
  context
      .loadDialect<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                   NVVM::NVVMDialect, math::MathDialect, memref::MemRefDialect,
                   scf::SCFDialect, vector::VectorDialect>();
  GpuBuilder b(UnknownLoc::get(&context), &context);
  GpuCode code;
  code.module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(code.module->getBody());
  auto functions = gpu::GPUModuleOp::create(b, "kernels");
  for (plan::KernelOp kernel : kernels) {
    if (llvm::Error error = checkKernel(kernel))
      return std::move(error);
    b.setInsertionPointToEnd(functions.getBody());
    code.kernels.emplace_back();
    KernelEmitter(b, kernel, gpu, code.kernels.back()).emit();
  }
  return code;
}
