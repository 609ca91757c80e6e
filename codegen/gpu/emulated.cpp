// Rewrites each gpu.func as a function of a thread's structure
// (runtime/emulated/abi.h): indices are read from it, barriers and shuffles
// become calls, and so does a check before every memory access. Each block of
// ops increments the thread's count of operations. MLIR lowers the rest to
// LLVM, and the CPU emitter's code to a blob.

#include "codegen/gpu/emulated.h"

#include "codegen/cpu/object.h"
#include "ir/scalar_ops.h"
#include "runtime/emulated/abi.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

#include <cstddef>

using namespace mlir;
using namespace gradus;

namespace emulated = gradus::runtime::emulated;

namespace {

/// A memref argument or shared memory: its start, its number in errors, and its
/// size.
struct Memory {
  Value pointer;
  int64_t number, elements;
};

class Rewriter {
public:
  explicit Rewriter(func::FuncOp function)
      : b_(function.getLoc(), function.getContext()), function_(function),
        pointer_(LLVM::LLVMPointerType::get(function.getContext())) {}

  /// The entry block has the arguments and then the shared memories of the
  /// gpu.func. Returns the bytes of shared memory.
  int64_t run(unsigned arguments);

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(value));
  }
  Value asInteger(Value index) {
    return arith::IndexCastOp::create(b_, b_.getI64Type(), index);
  }
  Value field(Value base, size_t offset, Type type);
  Value call(size_t service, Type result, ArrayRef<Value> arguments);
  int64_t bindArguments(Block &entry, unsigned arguments);
  void count(Block &block, int64_t operations);
  void rewrite(Operation &op);
  Value replacement(Operation &op);
  Value element(Value memref, Value index, Type type, int64_t alignment,
                bool writes);
  void check(int64_t buffer, Value index, int64_t elements, int64_t bytes,
             int64_t alignment, bool writes, Value address);
  void checkPointer(Type type, Value address, uint64_t alignment, bool writes);
  Value mathCall(Operation &op);

  ImplicitLocOpBuilder b_;
  func::FuncOp function_;
  Type pointer_;
  Value thread_; // the function's only argument
  Value services_;
  int64_t sites_ = 0;
  llvm::DenseMap<Value, Memory> memories_;
};

} // namespace

//===-- the thread's structure --------------------------------------------===//

Value Rewriter::field(Value base, size_t offset, Type type) {
  Value at = LLVM::GEPOp::create(b_, pointer_, b_.getI8Type(), base,
                                 ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  return LLVM::LoadOp::create(b_, type, at);
}

/// Calls a function of the services with the thread and the arguments.
Value Rewriter::call(size_t service, Type result, ArrayRef<Value> arguments) {
  SmallVector<Value> values = {field(services_, service, pointer_)};
  llvm::append_range(values, arguments);
  SmallVector<Type> types;
  for (Value argument : arguments)
    types.push_back(argument.getType());
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(b_.getContext()), types);
  auto call = LLVM::CallOp::create(b_, type, values);
  return result ? call.getResult() : Value();
}

static int64_t bytesOf(Type element) {
  if (auto vector = dyn_cast<VectorType>(element))
    return vector.getNumElements() * bytesOf(vector.getElementType());
  return std::max(8u, element.getIntOrFloatBitWidth()) / 8;
}

int64_t Rewriter::bindArguments(Block &entry, unsigned arguments) {
  thread_ = entry.insertArgument(0u, pointer_, b_.getLoc());
  b_.setInsertionPointToStart(&entry);
  services_ = field(thread_, offsetof(emulated::Thread, services), pointer_);
  Value table = field(thread_, offsetof(emulated::Thread, arguments), pointer_);
  Value shared = field(thread_, offsetof(emulated::Thread, shared), pointer_);
  int64_t bytes = 0;
  for (unsigned i = 0; i + 1 < entry.getNumArguments(); ++i) {
    BlockArgument argument = entry.getArgument(i + 1);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      Type plain = isa<LLVM::LLVMPointerType>(argument.getType())
                       ? pointer_
                       : argument.getType();
      argument.replaceAllUsesWith(field(table, 8 * i, plain));
    } else if (i < arguments) {
      memories_[argument] = {field(table, 8 * i, pointer_), i,
                             type.getNumElements()};
    } else {
      Value at = LLVM::GEPOp::create(b_, pointer_, b_.getI8Type(), shared,
                                     ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
      memories_[argument] = {at, -1 - int64_t(i - arguments),
                             type.getNumElements()};
      bytes += llvm::alignTo(
          type.getNumElements() * bytesOf(type.getElementType()), 16);
    }
  }
  return bytes;
}

//===-- memory ------------------------------------------------------------===//

void Rewriter::check(int64_t buffer, Value index, int64_t elements,
                     int64_t bytes, int64_t alignment, bool writes,
                     Value address) {
  call(offsetof(emulated::Services, access), {},
       {thread_, number(buffer), index, number(elements), number(bytes),
        number(alignment), number(writes), address});
}

void Rewriter::checkPointer(Type type, Value address, uint64_t alignment,
                            bool writes) {
  check(emulated::kAddress, number(0), 1, bytesOf(type),
        std::max<uint64_t>(1, alignment), writes, address);
}

/// The address of an element, or of a vector's first, after a check.
Value Rewriter::element(Value memref, Value index, Type type, int64_t alignment,
                        bool writes) {
  Memory memory = memories_.lookup(memref);
  Type one = cast<MemRefType>(memref.getType()).getElementType();
  Value place = asInteger(index);
  Value address = LLVM::GEPOp::create(b_, pointer_, one, memory.pointer,
                                      ArrayRef<LLVM::GEPArg>{place});
  int64_t bytes = bytesOf(type), behind = bytes / bytesOf(one) - 1;
  Value last = place;
  if (behind) { // the last element, the one that may be outside
    Value isBefore =
        arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, place, number(0));
    last = arith::SelectOp::create(
        b_, isBefore, place, arith::AddIOp::create(b_, place, number(behind)));
  }
  check(memory.number, last, memory.elements, bytes, alignment, writes,
        address);
  return address;
}

//===-- ops ---------------------------------------------------------------===//

/// The offset of an op's f32 function in the services; the f64 one follows it.
static size_t functionOf(Operation &op) {
  static const llvm::StringMap<size_t> functions = {
#define GRADUS_ENTRY(name)                                                     \
  {"math." #name, offsetof(emulated::Services, name##32)},
      GRADUS_EMULATED_UNARY(GRADUS_ENTRY)
#undef GRADUS_ENTRY
          {"math.powf", offsetof(emulated::Services, pow32)},
      {"arith.remf", offsetof(emulated::Services, fmod32)},
  };
  return functions.lookup(op.getName().getStringRef());
}

Value Rewriter::mathCall(Operation &op) {
  Type type = op.getResult(0).getType();
  SmallVector<Value> operands(op.getOperands());
  return call(functionOf(op) + (type.isF64() ? sizeof(void *) : 0), type,
              operands);
}

/// The replacement of an op's result; null for ops that stay.
Value Rewriter::replacement(Operation &op) {
  auto index = [&](size_t offset) -> Value {
    return arith::IndexCastOp::create(b_, b_.getIndexType(),
                                      field(thread_, offset, b_.getI64Type()));
  };
  if (isa<gpu::ThreadIdOp>(op))
    return index(offsetof(emulated::Thread, thread));
  if (isa<gpu::BlockIdOp>(op))
    return index(offsetof(emulated::Thread, block));
  if (isa<gpu::BlockDimOp>(op))
    return index(offsetof(emulated::Thread, threads));
  if (isa<gpu::GridDimOp>(op))
    return index(offsetof(emulated::Thread, blocks));
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
    return call(
        offsetof(emulated::Services, shuffleXor), b_.getI32Type(),
        {thread_, number(sites_++), shuffle.getValue(), shuffle.getOffset()});
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return LLVM::LoadOp::create(b_, load.getType(),
                                element(load.getMemRef(), load.getIndices()[0],
                                        load.getType(), bytesOf(load.getType()),
                                        false));
  if (auto load = dyn_cast<vector::LoadOp>(op))
    return LLVM::LoadOp::create(b_, load.getType(),
                                element(load.getBase(), load.getIndices()[0],
                                        load.getType(),
                                        load.getAlignment().value_or(1), false),
                                load.getAlignment().value_or(0));
  return functionOf(op) ? mathCall(op) : Value();
}

void Rewriter::rewrite(Operation &op) {
  b_.setInsertionPoint(&op);
  if (Value value = replacement(op)) {
    op.getResult(0).replaceAllUsesWith(value);
    op.erase();
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    Value at = element(store.getMemRef(), store.getIndices()[0],
                       store.getValue().getType(),
                       bytesOf(store.getValue().getType()), true);
    LLVM::StoreOp::create(b_, store.getValue(), at);
    op.erase();
  } else if (auto store = dyn_cast<vector::StoreOp>(op)) {
    Value all = store.getValueToStore();
    Value at = element(store.getBase(), store.getIndices()[0], all.getType(),
                       store.getAlignment().value_or(1), true);
    LLVM::StoreOp::create(b_, all, at, store.getAlignment().value_or(0));
    op.erase();
  } else if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    checkPointer(load.getType(), load.getAddr(),
                 load.getAlignment().value_or(1), false);
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    checkPointer(store.getValue().getType(), store.getAddr(),
                 store.getAlignment().value_or(1), true);
  } else if (isa<gpu::BarrierOp>(op)) {
    call(offsetof(emulated::Services, barrier), {},
         {thread_, number(sites_++)});
    op.erase();
  } else if (isa<NVVM::SyncWarpOp>(op)) {
    call(offsetof(emulated::Services, warpBarrier), {},
         {thread_, number(sites_++)});
    op.erase();
  } else if (isa<gpu::ReturnOp>(op)) {
    func::ReturnOp::create(b_);
    op.erase();
  }
}

//===-- operations --------------------------------------------------------===//

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}

/// About as many instructions as a GPU takes for an op: none for what names
/// registers, several for functions and for divisions that are no shifts.
/// Op list: what costs nothing on a GPU is known of LLVM's ops only here.
static int64_t operationsOf(Operation &op) {
  if (matchPattern(&op, m_Constant()) || op.hasTrait<OpTrait::IsTerminator>() ||
      isa<arith::IndexCastOp, arith::BitcastOp, LLVM::PoisonOp,
          LLVM::ExtractElementOp, LLVM::InsertElementOp, LLVM::BitcastOp>(op))
    return 0;
  const ScalarOp *known = scalarOp(&op);
  if (!known || known->cost < ScalarCost::division)
    return 1;
  if (known->cost == ScalarCost::function || isFloat(op.getResult(0)))
    return 8;
  APInt divisor;
  return matchPattern(op.getOperand(1), m_ConstantInt(&divisor)) &&
                 divisor.isPowerOf2()
             ? 1
             : 4;
}

/// The operations of a block; a loop also counts and compares.
static int64_t operationsOf(Block &block) {
  int64_t sum = isa<scf::ForOp>(block.getParentOp()) ? 2 : 0;
  for (Operation &op : block)
    sum += operationsOf(op);
  return sum;
}

void Rewriter::count(Block &block, int64_t operations) {
  b_.setInsertionPointToStart(&block);
  int32_t offset = offsetof(emulated::Thread, operations);
  Value at = LLVM::GEPOp::create(b_, pointer_, b_.getI8Type(), thread_,
                                 ArrayRef<LLVM::GEPArg>{offset});
  Value before = LLVM::LoadOp::create(b_, b_.getI64Type(), at);
  LLVM::StoreOp::create(
      b_, arith::AddIOp::create(b_, before, number(operations)), at);
}

int64_t Rewriter::run(unsigned arguments) {
  SmallVector<Operation *> ops;
  function_.walk([&](Operation *op) {
    if (op != function_)
      ops.push_back(op);
    for (Value result : op->getResults()) // There is one address space.
      if (isa<LLVM::LLVMPointerType>(result.getType()))
        result.setType(pointer_);
  });
  SmallVector<std::pair<Block *, int64_t>> counts;
  function_.walk([&](Block *block) {
    if (int64_t operations = operationsOf(*block))
      counts.push_back({block, operations});
  });
  int64_t shared = bindArguments(function_.getBody().front(), arguments);
  for (auto [block, operations] : counts)
    count(*block, operations);
  for (Operation *op : ops)
    rewrite(*op);
  Block &entry = function_.getBody().front();
  entry.eraseArguments(1, entry.getNumArguments() - 1);
  return shared;
}

//===-- modules -----------------------------------------------------------===//

static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<cf::ControlFlowDialect, func::FuncDialect,
                      vector::VectorDialect>();
}

/// Copies a gpu.func into the module as a function of a thread.
static int64_t addFunction(ModuleOp module, gpu::GPUFuncOp kernel) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto function = func::FuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                       b.getFunctionType({pointer}, {}));
  IRMapping mapping;
  kernel.getBody().cloneInto(&function.getBody(), mapping);
  // LLVM does the same for a GPU; this makes the counts of operations agree.
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  function.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
  return Rewriter(function).run(kernel.getNumArguments());
}

static LogicalResult lower(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  arith::ArithExpandOpsPassOptions narrow;
  narrow.includeBf16 = true;
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(arith::createArithExpandOpsPass(narrow));
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

/// Replaces extracts from a bf16 vector by extracts of its bits.
static void extractBits(llvm::Value *vector, llvm::Value *bits) {
  for (llvm::User *user : llvm::make_early_inc_range(vector->users()))
    if (auto *extract = dyn_cast<llvm::ExtractElementInst>(user)) {
      llvm::IRBuilder<> b(extract);
      llvm::Value *element =
          b.CreateExtractElement(bits, extract->getIndexOperand());
      extract->replaceAllUsesWith(b.CreateBitCast(element, extract->getType()));
      extract->eraseFromParent();
    }
}

/// Loads bits instead of bf16: LLVM 22 miscompiles the sign bit of a loaded
/// bf16 to 0 on x86, also for elements of a vector.
static void loadBits(llvm::Function &function) {
  SmallVector<llvm::LoadInst *> loads;
  for (llvm::Instruction &op : llvm::instructions(function))
    if (auto *load = dyn_cast<llvm::LoadInst>(&op);
        load && load->getType()->getScalarType()->isBFloatTy())
      loads.push_back(load);
  for (llvm::LoadInst *load : loads) {
    llvm::IRBuilder<> b(load);
    llvm::Type *bits = load->getType()->getWithNewType(b.getInt16Ty());
    llvm::Value *loaded =
        b.CreateAlignedLoad(bits, load->getPointerOperand(), load->getAlign());
    if (bits->isVectorTy())
      extractBits(load, loaded);
    load->replaceAllUsesWith(b.CreateBitCast(loaded, load->getType()));
    load->eraseFromParent();
  }
}

/// Defines the function that LLVM calls if a processor has no bf16
/// instructions: LLVM then keeps bf16 numbers that cross blocks in f32. Rounds
/// to the nearest, ties to even; a NaN remains a NaN.
static void addRoundingToBf16(llvm::Module &code) {
  llvm::IRBuilder<> b(code.getContext());
  auto *type = llvm::FunctionType::get(b.getBFloatTy(), {b.getFloatTy()},
                                       /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          "__truncsfbf2", code);
  b.SetInsertPoint(llvm::BasicBlock::Create(code.getContext(), "", function));
  llvm::Value *x = function->getArg(0);
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded =
      b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
  llvm::Value *quiet = b.CreateOr(bits, 0x400000);
  llvm::Value *chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  llvm::Value *upper = b.CreateTrunc(b.CreateLShr(chosen, 16), b.getInt16Ty());
  b.CreateRet(b.CreateBitCast(upper, b.getBFloatTy()));
}

static llvm::Expected<Blob> compile(ModuleOp module, const CpuTarget &target,
                                    ArrayRef<std::string> names) {
  auto machine = targetMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = translateModuleToLLVMIR(module, context, "emulated");
  if (!code)
    return llvm::createStringError("emulated kernels have no LLVM code");
  addRoundingToBf16(*code);
  for (llvm::Function &function : *code) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    loadBits(function);
  }
  return compileToBlob(*code, **machine, names);
}

llvm::Expected<EmulatedCode> gradus::emulateGpu(const GpuCode &code,
                                                const CpuTarget &target) {
  ModuleOp from = *code.module;
  loadDialects(*from.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(from.getLoc());
  EmulatedCode result;
  std::vector<std::string> names;
  from.walk([&](gpu::GPUFuncOp kernel) {
    int64_t shared = addFunction(*module, kernel);
    names.push_back(kernel.getName().str());
    result.kernels.push_back({names.back(), 0, shared});
  });
  if (failed(lower(*module)))
    return llvm::createStringError("GPU kernels cannot be emulated");
  auto blob = compile(*module, target, names);
  if (!blob)
    return blob.takeError();
  result.code = std::move(blob->bytes);
  for (auto [kernel, entry] : llvm::zip(result.kernels, blob->entries))
    kernel.entry = entry;
  return result;
}
