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
      : b_(b), kernel_(kernel), gpu_(gpu), result_(result) {}
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

  GpuBuilder &b_;
  plan::KernelOp kernel_;
  const GpuModel &gpu_;
  GpuKernel &result_;
  GpuMapping mapping_;
  GpuThread thread_;
  Value group_, block_; // number within the block, in the grid
  gpu::GPUFuncOp function_;
  std::optional<NestEmitter> nests_;
  llvm::DenseMap<Value, GpuBuffer> scratch_;
};

} // namespace

//===-- functions ---------------------------------------------------------===//

/// The op of a kernel with indices, which has no other ops; null for others.
Operation *KernelEmitter::indexedOp() {
  for (Operation &op : kernel_.getBody().front())
    if (isa<plan::TakeOp, plan::AddAtOp>(op))
      return &op;
  return nullptr;
}

void KernelEmitter::chooseWork() {
  Operation *indexed = indexedOp();
  mapping_ = indexed ? mapIndexed(indexed, gpu_) : chooseMapping(kernel_, gpu_);
  b_.usePositionsOf32Bits(indexed ? indexedFits32Bits(indexed)
                                  : fits32Bits(kernel_, mapping_));
}

/// The 1-D memref of a buffer's elements, or of those of several like it.
MemRefType KernelEmitter::line(Type buffer, int64_t times) {
  auto type = cast<MemRefType>(buffer);
  return MemRefType::get({type.getNumElements() * times},
                         gpuMemoryType(type.getElementType()),
                         MemRefLayoutAttrInterface(), b_.getI64IntegerAttr(1));
}

SmallVector<Type> KernelEmitter::argumentTypes() {
  if (kernel_.getSplit() == plan::Split::flat)
    return flatArguments(b_.getContext());
  SmallVector<Type> types;
  for (Type type : kernel_.getArgumentTypes())
    types.push_back(line(type, 1));
  if (mapping_.isScratchShared)
    return types;
  for (auto op : kernel_.getBody().getOps<plan::ScratchOp>()) {
    MemRefType type = line(op.getType(), mapping_.mostBlocks);
    types.push_back(type);
    result_.scratchBytes.push_back(type.getNumElements() *
                                   type.getElementTypeBitWidth() / 8);
  }
  return types;
}

void KernelEmitter::createFunction(ArrayRef<Type> arguments) {
  function_ = gpu::GPUFuncOp::create(b_, kernel_.getSymName(),
                                     b_.getFunctionType(arguments, {}));
  function_->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                     b_.getUnitAttr());
  function_.setKnownBlockSizeAttr(
      b_.getDenseI32ArrayAttr({int32_t(result_.threads), 1, 1}));
  // Left to itself, ptxas spills a few bytes for the sake of a ninth block;
  // two have 128 registers a thread.
  function_->setAttr("nvvm.minctasm", b_.getI32IntegerAttr(gpu_.blocksEach));
  b_.setInsertionPointToEnd(&function_.getBody().front());
}

void KernelEmitter::emit() {
  bool isFlat = kernel_.getSplit() == plan::Split::flat;
  b_.usePositionsOf32Bits(false);
  if (!isFlat)
    chooseWork();
  result_.name = kernel_.getSymName().str();
  result_.threads = mapping_.threads;
  result_.mostBlocks = isFlat ? 0 : mapping_.mostBlocks;
  result_.operations = gpuOperationsOf(kernel_, gpu_);
  result_.piece = isFlat ? flatPiece(kernel_) : 0;
  createFunction(argumentTypes());
  if (isFlat)
    emitFlat(b_, kernel_, function_);
  else
    emitItems();
  gpu::ReturnOp::create(b_);
}

//===-- memory ------------------------------------------------------------===//

/// Each group has its part of shared memory, or each block its part of the
/// device's memory.
void KernelEmitter::placeScratch() {
  unsigned argument = kernel_.getNumArguments();
  for (auto op : kernel_.getBody().getOps<plan::ScratchOp>()) {
    int64_t elements = cast<MemRefType>(op.getType()).getNumElements();
    Type element = cast<MemRefType>(op.getType()).getElementType();
    if (mapping_.isScratchShared)
      scratch_[op.getResult()] = {
          addShared(b_, function_, gpuMemoryType(element),
                    elements * mapping_.groups()),
          mapping_.groups() > 1 ? b_.mul(group_, elements) : Value()};
    else
      scratch_[op.getResult()] = {function_.getArgument(argument++),
                                  b_.mul(block_, elements)};
  }
}

GpuBuffer KernelEmitter::bufferOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument
             ? GpuBuffer{function_.getArgument(argument.getArgNumber()), {}}
             : scratch_.lookup(value);
}

//===-- items -------------------------------------------------------------===//

void KernelEmitter::findThread() {
  block_ = b_.position(gpu::BlockIdOp::create(b_, gpu::Dimension::x));
  thread_.inBlock = b_.position(gpu::ThreadIdOp::create(b_, gpu::Dimension::x));
  thread_.group = mapping_.group;
  group_ = b_.quotient(thread_.inBlock, mapping_.group);
  thread_.inGroup = b_.remainder(thread_.inBlock, mapping_.group);
  if (mapping_.group == mapping_.threads) {
    group_ = b_.number(0);
    thread_.inGroup = thread_.inBlock;
  }
}

void KernelEmitter::emitItems() {
  findThread();
  placeScratch();
  auto buffer = [&](Value value) { return bufferOf(value); };
  nests_.emplace(b_, function_, thread_, mapping_, buffer);
  Value blocks = b_.position(gpu::GridDimOp::create(b_, gpu::Dimension::x));
  Value first = b_.add(b_.mul(block_, mapping_.groups()), group_);
  b_.loop(first, b_.number(mapping_.items), b_.mul(blocks, mapping_.groups()),
          [&](Value number) { emitItem(number); });
}

void KernelEmitter::emitItem(Value number) {
  emitOps(kernel_.getBody().front(), {number, {}, mapping_.isByPoints});
}

/// A nest may read what the one before has written: all threads wait for each
/// other after each nest, also before the next item.
void KernelEmitter::emitOps(Block &ops, const GpuItem &item) {
  auto buffer = [&](Value value) { return bufferOf(value); };
  for (Operation &op : ops) {
    if (auto nest = dyn_cast<plan::NestOp>(op)) {
      plan::Split split =
          mapping_.isByPoints ? plan::Split::serial : kernel_.getSplit();
      nests_->emit(readNest(nest, split), item, mapping_.nests[nest]);
      synchronize();
    } else if (auto loop = dyn_cast<plan::LoopOp>(op)) {
      emitLoop(loop, item);
    } else if (isa<plan::TakeOp, plan::AddAtOp>(op)) {
      emitIndexed(b_, &op, gpu_, item.number, function_, thread_, buffer);
    }
  }
}

void KernelEmitter::emitLoop(plan::LoopOp op, const GpuItem &item) {
  SmallVector<Value> around = {item.number};
  llvm::append_range(around, item.loops);
  Value first = b_.limit(op.getFirst(), /*largest=*/true, around);
  Value end = b_.limit(op.getEnd(), /*largest=*/false, around);
  b_.loop(first, end, b_.number(1), [&](Value position) {
    GpuItem inside = item;
    inside.loops.push_back(position);
    emitOps(op.getBody().front(), inside);
  });
}

void KernelEmitter::synchronize() {
  if (mapping_.isByPoints || mapping_.group == 1)
    return;
  if (mapping_.group == mapping_.threads && mapping_.group > kWarp) {
    gpu::BarrierOp::create(b_);
    return;
  }
  Value all = arith::ConstantOp::create(b_, b_.getI32IntegerAttr(-1));
  NVVM::SyncWarpOp::create(b_, all);
}

//===-- modules -----------------------------------------------------------===//

/// Passes make pairs, and loops whose position is read, for CPUs alone.
static bool isOfCpus(Operation *op) {
  auto loop = dyn_cast<plan::LoopOp>(op);
  return isa<plan::PairsOp, plan::DotPairsOp>(op) || (loop && loop.getAt());
}

static bool isOfCpus(plan::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isOfCpus(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

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
    if (isOfCpus(kernel))
      return llvm::createStringError("kernel '" + kernel.getSymName() +
                                     "' has pairs, or a loop that reads its "
                                     "position, which only CPUs have");
    b.setInsertionPointToEnd(functions.getBody());
    code.kernels.emplace_back();
    KernelEmitter(b, kernel, gpu, code.kernels.back()).emit();
  }
  return code;
}
