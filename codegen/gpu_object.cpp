// The order of passes that was measured to keep vectors and bare pointers; one
// PTX for all kernels, which ptxas splits again over the processors.

#include "codegen/gpu_object.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <thread>

using namespace mlir;
using namespace gradus;

//===-- programs ----------------------------------------------------------===//

namespace {

/// A file in the temporary folder that goes with its name.
struct TemporaryFile {
  SmallString<128> path;
  explicit TemporaryFile(StringRef ending) {
    (void)llvm::sys::fs::createTemporaryFile("gradus", ending, path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() { llvm::sys::fs::remove(path); }

  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
};

} // namespace

/// What a program prints, out and err; an error if it fails.
static llvm::Expected<std::string> printedBy(ArrayRef<StringRef> command) {
  TemporaryFile printed("txt");
  std::string why;
  std::optional<StringRef> to[] = {StringRef(), printed.path.str(),
                                   printed.path.str()};
  int code = llvm::sys::ExecuteAndWait(command[0], command, std::nullopt, to,
                                       /*SecondsToWait=*/600, 0, &why);
  std::string text = printed.read();
  if (code == 0)
    return text;
  return llvm::createStringError(
      command[0] +
      " failed: " + (why.empty() ? StringRef(text).trim().str() : why));
}

llvm::Expected<CudaToolkit> gradus::cudaToolkit(StringRef folder) {
  for (StringRef needed : {"/bin/ptxas", "/nvvm/libdevice/libdevice.10.bc"})
    if (!llvm::sys::fs::exists(folder + needed))
      return llvm::createStringError("CUDA targets need a toolkit: " + folder +
                                     needed +
                                     " is not there; ./dev setup fetches one");
  std::string ptxas = folder.str() + "/bin/ptxas";
  auto printed = printedBy({ptxas, "--version"});
  if (!printed)
    return printed.takeError();
  StringRef version = StringRef(*printed).split("release").second;
  return CudaToolkit{folder.str(), "release" + version.split('\n').first.str()};
}

bool gradus::hasCudaToolkit() {
#ifdef GRADUS_CUDA_FOLDER
  return true;
#else
  return false;
#endif
}

llvm::Expected<CudaToolkit> gradus::cudaToolkit() {
#ifdef GRADUS_CUDA_FOLDER
  return cudaToolkit(GRADUS_CUDA_FOLDER);
#else
  return llvm::createStringError("this Gradus was built without a CUDA toolkit "
                                 "(GRADUS_CUDA=OFF)");
#endif
}

//===-- PTX ---------------------------------------------------------------===//

static void loadInterfaces(MLIRContext &context) {
  DialectRegistry registry;
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  // convert-gpu-to-nvvm takes its patterns from these.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  context.appendDialectRegistry(registry);
}

/// A root that is rounded as IEEE says: what libdevice has by default is not.
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

static LogicalResult lower(ModuleOp module, StringRef architecture,
                           const CudaToolkit &toolkit) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  GpuNVVMAttachTargetOptions target;
  target.chip = architecture.str();
  target.optLevel = 3;
  passes.addPass(createGpuNVVMAttachTarget(target));
  auto &functions = passes.nest<gpu::GPUModuleOp>();
  functions.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions convert;
  convert.useBarePtrCallConv = true;
  convert.indexBitwidth = 64;
  functions.addPass(createConvertGpuOpsToNVVMOps(convert));
  functions.addPass(createConvertMathToLLVMPass()); // of integers
  functions.addPass(createConvertNVVMToLLVMPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createReconcileUnrealizedCastsPass());
  GpuModuleToBinaryPassOptions binary;
  binary.toolkitPath = toolkit.folder;
  binary.compilationTarget = "isa";
  passes.addPass(createGpuModuleToBinaryPass(binary));
  return passes.run(module);
}

llvm::Expected<std::string> gradus::emitPtx(const GpuCode &code,
                                            StringRef architecture,
                                            const CudaToolkit &toolkit) {
  OwningOpRef<ModuleOp> module(ModuleOp(code.module.get()).clone());
  loadInterfaces(*module->getContext());
  replaceRoots(*module);
  std::string ptx;
  if (succeeded(lower(*module, architecture, toolkit)))
    module->walk([&](gpu::BinaryOp binary) {
      for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>())
        ptx += object.getObject().getValue();
    });
  if (ptx.empty())
    return llvm::createStringError("GPU kernels have no PTX for " +
                                   architecture);
  return ptx;
}

//===-- ptxas -------------------------------------------------------------===//

/// The number before a word, or 0.
static int64_t numberBefore(StringRef line, StringRef word) {
  size_t end = line.find(word);
  if (end == StringRef::npos)
    return 0;
  StringRef before = line.take_front(end).rtrim();
  int64_t number = 0;
  before.substr(before.find_last_not_of("0123456789") + 1)
      .getAsInteger(10, number);
  return number;
}

std::vector<KernelUse> gradus::parseUse(StringRef printed) {
  std::vector<KernelUse> kernels;
  SmallVector<StringRef> lines;
  printed.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function"))
      kernels.push_back({line.split('\'').second.split('\'').first.str()});
    if (kernels.empty())
      continue;
    KernelUse &use = kernels.back();
    use.stack += numberBefore(line, "bytes stack frame");
    use.spilled += numberBefore(line, "bytes spill stores") +
                   numberBefore(line, "bytes spill loads");
    use.registers += numberBefore(line, "registers");
    use.shared += numberBefore(line, "bytes smem");
  }
  return kernels;
}

llvm::Expected<Cubin> gradus::assemble(std::string ptx, StringRef architecture,
                                       const CudaToolkit &toolkit) {
  TemporaryFile from("ptx"), to("cubin");
  std::error_code wrong;
  llvm::raw_fd_ostream(from.path, wrong) << ptx;
  if (wrong)
    return llvm::createStringError(from.path.str() + ": " + wrong.message());
  std::string ptxas = toolkit.folder + "/bin/ptxas",
              threads = "--split-compile=" +
                        std::to_string(
                            std::max(1u, std::thread::hardware_concurrency())),
              name = ("--gpu-name=" + architecture).str();
  auto printed = printedBy(
      {ptxas, name, "-O3", "--verbose", threads, from.path, "-o", to.path});
  if (!printed)
    return printed.takeError();
  std::string code = to.read();
  return Cubin{architecture.str(), std::move(ptx),
               std::vector<char>(code.begin(), code.end()), parseUse(*printed)};
}
