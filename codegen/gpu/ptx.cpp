// Runs the order of passes that was measured to preserve vectors and bare
// pointers; then LLVM, with the functions of libdevice, in a thread for each
// part of each architecture.

#include "codegen/gpu/ptx.h"

#include "codegen/gpu/object.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace gradus;

//===-- MLIR to LLVM ------------------------------------------------------===//

static void loadInterfaces(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  // convert-gpu-to-nvvm gets its patterns from these.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  context.appendDialectRegistry(registry);
}

/// A square root with IEEE rounding, which libdevice does not have by default.
static Value exactRoot(ImplicitLocOpBuilder &b, Value x) {
  StringRef name =
      x.getType().isF64() ? "llvm.nvvm.sqrt.rn.d" : "llvm.nvvm.sqrt.rn.f";
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name),
                                       ValueRange{x})
      .getResult(0);
}

static void replaceRoots(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (!isa<math::SqrtOp, math::RsqrtOp>(op))
      return;
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value root = exactRoot(b, op->getOperand(0));
    if (isa<math::RsqrtOp>(op)) {
      Value one =
          arith::ConstantOp::create(b, b.getFloatAttr(root.getType(), 1.0));
      root = arith::DivFOp::create(b, one, root);
    }
    op->getResult(0).replaceAllUsesWith(root);
    op->erase();
  });
}

static LogicalResult lower(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  auto &functions = passes.nest<gpu::GPUModuleOp>();
  functions.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions convert;
  convert.useBarePtrCallConv = true;
  convert.indexBitwidth = 64;
  functions.addPass(createConvertGpuOpsToNVVMOps(convert));
  functions.addPass(createConvertMathToLLVMPass()); // for integers
  functions.addPass(createConvertNVVMToLLVMPass());
  functions.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

//===-- parts -------------------------------------------------------------===//

/// The number of instructions in a part, unless it has only one kernel.
static constexpr unsigned kPartInstructions = 3000;

/// The kernels of each part, which are neighbours.
static std::vector<std::vector<std::string>> cut(llvm::Module &module) {
  std::vector<std::vector<std::string>> parts;
  unsigned instructions = kPartInstructions;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (instructions >= kPartInstructions) {
      parts.emplace_back();
      instructions = 0;
    }
    parts.back().push_back(function.getName().str());
    instructions += function.getInstructionCount();
  }
  return parts;
}

/// Erases unused functions and globals: functions of libdevice that other parts
/// call, and shared memory of other kernels.
static void eraseUnused(llvm::Module &module) {
  auto isUnused = [](const llvm::GlobalValue &value) {
    return value.use_empty() &&
           (value.isDeclaration() || value.hasLocalLinkage());
  };
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (isUnused(function))
      function.eraseFromParent();
  for (auto &global : llvm::make_early_inc_range(module.globals()))
    if (isUnused(global))
      global.eraseFromParent();
}

/// The bitcode of a part, which does not even declare the other kernels.
static std::string bitcodeOf(llvm::Module &module,
                             ArrayRef<std::string> names) {
  auto isPart = [&](const llvm::GlobalValue *value) {
    return !isa<llvm::Function>(value) ||
           llvm::is_contained(names, value->getName());
  };
  llvm::ValueToValueMapTy map;
  std::unique_ptr<llvm::Module> part = CloneModule(module, map, isPart);
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !isPart(&function))
      cast<llvm::Function>(map[&function])->eraseFromParent();
  eraseUnused(*part);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  WriteBitcodeToFile(*part, stream);
  return bitcode;
}

llvm::Expected<GpuBitcode> gradus::lowerGpu(const GpuCode &code) {
  OwningOpRef<ModuleOp> module(ModuleOp(code.module.get()).clone());
  loadInterfaces(*module->getContext());
  replaceRoots(*module);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> lowered;
  if (succeeded(lower(*module)))
    lowered = translateModuleToLLVMIR(
        *module->getOps<gpu::GPUModuleOp>().begin(), context, "kernels");
  if (!lowered)
    return llvm::createStringError("GPU kernels have no LLVM code");
  GpuBitcode bitcode;
  for (const std::vector<std::string> &names : cut(*lowered))
    bitcode.parts.push_back(bitcodeOf(*lowered, names));
  return bitcode;
}

//===-- LLVM to PTX -------------------------------------------------------===//

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

static constexpr const char *kTriple = "nvptx64-nvidia-cuda";

static const llvm::Target *nvptx() {
  static const llvm::Target *target = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
  }();
  return target;
}

namespace {

/// Compiles one part from bitcode to PTX for one architecture.
class PtxEmitter {
public:
  PtxEmitter(StringRef architecture, llvm::MemoryBufferRef libdevice,
             unsigned part)
      : libdevice_(libdevice), part_(part),
        machine_(nvptx()->createTargetMachine(
            llvm::Triple(kTriple), architecture, "", {}, std::nullopt,
            std::nullopt, llvm::CodeGenOptLevel::Default)) {}

  llvm::Expected<std::string> emit(StringRef bitcode);

private:
  llvm::Error linkLibdevice(llvm::Module &module);
  llvm::Error optimize(llvm::Module &module);
  void nameApart(llvm::Module &module);
  llvm::Expected<std::string> write(llvm::Module &module);

  llvm::LLVMContext context_;
  llvm::MemoryBufferRef libdevice_;
  unsigned part_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

} // namespace

/// Links the functions that the kernels call into the module.
llvm::Error PtxEmitter::linkLibdevice(llvm::Module &module) {
  bool isNeeded = llvm::any_of(module, [](llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!isNeeded)
    return llvm::Error::success();
  auto library = llvm::getLazyBitcodeModule(libdevice_, context_);
  if (!library)
    return library.takeError();
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(*library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &added) {
        internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !added.contains(value.getName());
        });
      });
  if (failed)
    return llvm::createStringError("libdevice cannot be linked");
  return llvm::Error::success();
}

/// The passes for kernels: these have vectors and no memory of their own, and
/// code generation optimises addresses. LLVM's default pipeline gives the same
/// loads and as many instructions, but takes three times as long.
static constexpr const char *kPasses =
    "cgscc(inline),"
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg,loop-mssa(loop-rotate,licm),simplifycfg,"
    "instcombine<no-verify-fixpoint>,"
    "loop(indvars,loop-deletion,loop-unroll-full),sroa,gvn,loop-unroll<O3>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm)),globaldce";

llvm::Error PtxEmitter::optimize(llvm::Module &module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  builder.invokePipelineStartEPCallbacks(passes, // replaces __nvvm_reflect
                                         llvm::OptimizationLevel::O2);
  if (llvm::Error error = builder.parsePassPipeline(passes, kPasses))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

/// Renames local symbols, since parts with equal names are joined to one text.
void PtxEmitter::nameApart(llvm::Module &module) {
  for (llvm::GlobalValue &value : module.global_values())
    if (value.hasLocalLinkage() && value.hasName())
      value.setName(value.getName() + "_" + llvm::Twine(part_));
}

llvm::Expected<std::string> PtxEmitter::write(llvm::Module &module) {
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager passes;
  if (machine_->addPassesToEmitFile(passes, stream, nullptr,
                                    llvm::CodeGenFileType::AssemblyFile,
                                    /*DisableVerify=*/true))
    return llvm::createStringError("this LLVM cannot write PTX");
  passes.run(module);
  return ptx.str().str();
}

llvm::Expected<std::string> PtxEmitter::emit(StringRef bitcode) {
  if (!machine_)
    return llvm::createStringError("this LLVM has no NVPTX code generator");
  auto module = llvm::parseBitcodeFile({bitcode, "kernels"}, context_);
  if (!module)
    return module.takeError();
  (*module)->setTargetTriple(llvm::Triple(kTriple));
  (*module)->setDataLayout(machine_->createDataLayout());
  if (llvm::Error error = linkLibdevice(**module))
    return std::move(error);
  if (llvm::Error error = optimize(**module))
    return std::move(error);
  nameApart(**module);
  return write(**module);
}

//===-- texts -------------------------------------------------------------===//

std::string gradus::ptxWriter() {
  return std::string("LLVM ") + LLVM_VERSION_STRING + " " + kPasses;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
gradus::libdevice(const CudaToolkit &toolkit) {
  std::string path = toolkit.folder + "/nvvm/libdevice/libdevice.10.bc";
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(path + ": " + file.getError().message());
  return std::move(*file);
}

/// Joins the parts; the text above the first kernel is the same in all.
static std::string joined(ArrayRef<std::string> parts) {
  std::string all;
  for (StringRef part : parts)
    all += all.empty() ? part : part.split(".address_size 64\n").second;
  return all;
}

llvm::Expected<std::vector<std::string>>
gradus::emitPtx(const GpuBitcode &code, ArrayRef<std::string> architectures,
                const CudaToolkit &toolkit) {
  auto library = libdevice(toolkit);
  if (!library)
    return library.takeError();
  nvptx(); // must run before threads start
  size_t count = code.parts.size();
  std::vector<std::string> texts(count * architectures.size());
  std::vector<std::string> problems(texts.size());
  llvm::DefaultThreadPool threads;
  for (size_t a = 0; a < architectures.size(); ++a)
    for (size_t p = 0; p < count; ++p)
      threads.async([&, a, p] {
        PtxEmitter emitter(architectures[a], (*library)->getMemBufferRef(), p);
        if (auto ptx = emitter.emit(code.parts[p]))
          texts[a * count + p] = std::move(*ptx);
        else
          problems[a * count + p] = llvm::toString(ptx.takeError());
      });
  threads.wait();
  for (const std::string &problem : problems)
    if (!problem.empty())
      return llvm::createStringError(problem);
  std::vector<std::string> whole;
  whole.reserve(architectures.size());
  for (size_t a = 0; a < architectures.size(); ++a)
    whole.push_back(joined(ArrayRef(texts).slice(a * count, count)));
  return whole;
}
