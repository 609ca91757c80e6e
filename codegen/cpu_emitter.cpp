// Kernels one after the other into one LLVM module, and that into a blob.

#include "codegen/cpu_emitter.h"

#include "codegen/cpu_loops.h"
#include "codegen/cpu_object.h"
#include "codegen/cpu_ops.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace gradus;

/// LLVM names of functions: kernels may share names with nothing but themselves.
static std::string functionName(size_t index) { return "k" + std::to_string(index); }

//===-- what cannot be emitted --------------------------------------------===//

static std::string describe(mlir::Type type) {
  std::string text;
  raw_string_ostream(text) << type;
  return text;
}

static bool isElement(mlir::Type type) {
  return type.isF32() || type.isF64() || type.isBF16() || type.isF16() || type.isInteger(1) ||
         type.isInteger(8) || type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
}

static Error checkNest(plan::KernelOp kernel, plan::NestOp nest) {
  std::string where = "kernel '" + kernel.getSymName().str() + "': ";
  for (mlir::Region *region : {&nest.getMap(), &nest.getThen()})
    if (mlir::Operation *op = findUnsupported(*region))
      return createStringError(where + "no CPU code for op '" +
                               op->getName().getStringRef() + "'");
  for (auto kind : nest.getCombine().getAsRange<ReductionAttr>())
    if (kind.getValue() == Reduction::mean)
      return createStringError(where + "a nest combines by sum, max or min, found mean");
  for (mlir::Value operand : nest->getOperands()) {
    mlir::Type element = cast<mlir::MemRefType>(operand.getType()).getElementType();
    if (!isElement(element))
      return createStringError(where + "no CPU code for elements of type " + describe(element));
  }
  return Error::success();
}

//===-- kernels -----------------------------------------------------------===//

namespace {

class KernelEmitter {
public:
  KernelEmitter(CpuBuilder &builder, plan::KernelOp kernel, Function &function)
      : b(builder), kernel(kernel), function(function) {}
  Error emit();

private:
  Value *pointerOf(mlir::Value buffer);
  void emitScratch(plan::ScratchOp op);
  Error emitNests(const Items &items);
  Error emitItems();

  CpuBuilder &b;
  plan::KernelOp kernel;
  Function &function;
  DenseMap<mlir::Value, Value *> scratch;
};

} // namespace

/// Scratch lies on the stack; arguments are read from the table where they are
/// used, which keeps registers free between.
Value *KernelEmitter::pointerOf(mlir::Value buffer) {
  if (Value *own = scratch.lookup(buffer))
    return own;
  unsigned number = cast<mlir::BlockArgument>(buffer).getArgNumber();
  Type *pointer = b.getPtrTy();
  Value *slot = b.CreateConstGEP1_64(pointer, function.getArg(0), number);
  LoadInst *loaded = b.CreateAlignedLoad(pointer, slot, Align(8));
  loaded->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(b.getContext(), {}));
  return loaded;
}

void KernelEmitter::emitScratch(plan::ScratchOp op) {
  auto type = cast<mlir::MemRefType>(op.getType());
  Type *memory = ArrayType::get(memoryType(b, type.getElementType()), type.getNumElements());
  AllocaInst *place = b.CreateAlloca(memory);
  place->setAlignment(Align(64));
  scratch[op.getResult()] = place;
}

Error KernelEmitter::emitNests(const Items &items) {
  for (auto op : kernel.getBody().getOps<plan::NestOp>()) {
    if (Error error = checkNest(kernel, op))
      return error;
    Nest nest = readNest(op, kernel.getSplit());
    emitNest(b, nest, chooseTiling(nest, b.target), items,
             [&](mlir::Value buffer) { return pointerOf(buffer); });
  }
  return Error::success();
}

/// All nests on all items, or, where they pass values through scratch, on one
/// item after the other.
Error KernelEmitter::emitItems() {
  Value *begin = function.getArg(1), *end = function.getArg(2);
  if (scratch.empty() || kernel.getSplit() != plan::Split::rows)
    return emitNests({begin, end, -1});
  Error error = Error::success();
  b.loop(begin, end, 1, [&](Value *item) {
    error = joinErrors(std::move(error), emitNests({item, nullptr, 1}));
  });
  return error;
}

Error KernelEmitter::emit() {
  b.SetInsertPoint(BasicBlock::Create(b.getContext(), "entry", &function));
  for (auto op : kernel.getBody().getOps<plan::ScratchOp>())
    emitScratch(op);
  if (Error error = emitItems())
    return error;
  b.CreateRetVoid();
  return Error::success();
}

static Function *declare(Module &module, CpuBuilder &b, const CpuTarget &target,
                         const std::string &name) {
  Type *arguments[] = {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()};
  auto *type = FunctionType::get(b.getVoidTy(), arguments, false);
  Function *function = Function::Create(type, Function::ExternalLinkage, name, module);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
  function->addFnAttr("no-builtins"); // No loop becomes a call of memset.
  if (!target.tune.empty())
    function->addFnAttr("tune-cpu", target.tune);
  return function;
}

Expected<CpuCode> gradus::emitCpu(ArrayRef<plan::KernelOp> kernels, const CpuTarget &target) {
  auto machine = targetMachine(target);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  Module module("kernels", context);
  CpuBuilder builder(context, target);
  std::vector<std::string> names;
  for (auto [i, kernel] : enumerate(kernels)) {
    names.push_back(functionName(i));
    Function *function = declare(module, builder, target, names.back());
    if (Error error = KernelEmitter(builder, kernel, *function).emit())
      return error;
  }
  Expected<Blob> blob = compileToBlob(module, **machine, names);
  if (!blob)
    return blob.takeError();
  CpuCode code{std::move(blob->bytes), {}};
  for (auto [kernel, entry] : zip(kernels, blob->entries))
    code.kernels.push_back({plan::KernelOp(kernel).getSymName().str(), entry});
  return code;
}
