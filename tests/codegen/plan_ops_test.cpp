// Every op that a nest may hold is emitted for every device, and nothing else
// is let through.

#include "gpu_check.h"
#include "kernel_text.h"

#include "codegen/gpu_object.h"
#include "codegen/plan_ops.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// A word of the table as a type of 32 or 64 bits.
std::string typeOf(llvm::StringRef word, bool wide) {
  return llvm::StringSwitch<std::string>(word)
      .Case("float", wide ? "f64" : "f32")
      .Case("integer", wide ? "i64" : "i32")
      .Default(word.str());
}

/// The op's own line, of operands %a0, %a1 ...; comparisons by "less than".
std::string lineOf(const ScalarOp &op, llvm::ArrayRef<std::string> types,
                   const std::string &result) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < types.size(); ++i)
    operands.push_back("%a" + std::to_string(i));
  std::string before, attributes;
  if (op.name == "arith.cmpf")
    attributes = " <{predicate = 4 : i64}>";
  else if (op.name == "arith.cmpi")
    attributes = " <{predicate = 2 : i64}>";
  else if (op.name == "arith.fptoui") { // What is negative has no such number.
    before = " %p = math.absf %a0 : " + types[0] + "\n";
    operands[0] = "%p";
  }
  return before + " %r = \"" + op.name.str() + "\"(" +
         llvm::join(operands, ", ") + ")" + attributes + " : (" +
         llvm::join(types, ", ") + ") -> " + result + "\n";
}

/// A kernel that does an op to lines of elements. What is no element becomes
/// one.
std::string applied(const ScalarOp &op, bool wide) {
  llvm::SmallVector<llvm::StringRef> words;
  op.operands.split(words, ' ');
  std::vector<std::string> types, arguments;
  Operands reads;
  for (auto [i, word] : llvm::enumerate(words)) {
    std::string number = std::to_string(i), type = typeOf(word, wide);
    types.push_back(type);
    arguments.push_back("%a" + number + ": " + type);
    reads.push_back({"%x" + number, buffer({100}, type), "(i) -> (i)"});
  }
  std::string result = typeOf(op.result, wide),
              line = lineOf(op, types, result), last = "%r";
  if (result == "index") {
    line += " %e = arith.index_cast %r : index to i64\n";
    result = "i64", last = "%e";
  }
  NestText nest{{100},
                {},
                {},
                reads,
                {{"%y", buffer({100}, result), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(" + llvm::join(arguments, ", ") + "):\n" + line +
                    " plan.yield " + last + " : " + result + "\n"};
  std::string name = op.name.split('.').second.str();
  return kernelOf(name + (wide ? "_wide" : ""), nest, "serial");
}

std::string everyOp() {
  std::string text;
  for (const ScalarOp &op : scalarOps())
    for (bool wide : {false, true})
      text += applied(op, wide);
  return text;
}

} // namespace

TEST(PlanOps, AreComputedByACpuAndAnEmulatedGpu) {
  GpuCheck check;
  check.tolerance = 2e-5;
  check.run(everyOp());
}

TEST(PlanOps, BecomePtxThatCallsNothing) {
  if (!hasCudaToolkit())
    GTEST_SKIP() << "built without a CUDA toolkit (GRADUS_CUDA=OFF)";
  Context context;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(everyOp(), &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  ASSERT_EQ(kernels.size(), 2 * scalarOps().size());
  GpuCode code = llvm::cantFail(emitGpu(kernels, context.context));
  auto ptx = emitPtx(code, "sm_80", llvm::cantFail(cudaToolkit()));
  ASSERT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
  EXPECT_EQ(ptx->find(".extern .func"), std::string::npos)
      << ptx->substr(ptx->find(".extern .func"), 200);
}

/// What both emitters say of a kernel that copies lines, with `line` between.
static void expectRefused(std::string type, std::string line,
                          std::string wrong) {
  NestText nest{{4},
                {},
                {},
                {{"%x", buffer({4}, type), "(i) -> (i)"}},
                {{"%y", buffer({4}, type), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(%a: " + type + "):\n " + line +
                    "\n plan.yield %a : " + type + "\n"};
  Context context;
  mlir::ParserConfig unverified(&context.context, /*verifyAfterParse=*/false);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kernelOf("odd", nest, "serial"), unverified);
  ASSERT_TRUE(module);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  auto cpu = emitCpu(kernels, llvm::cantFail(cpuTarget("cpu")));
  EXPECT_EQ(llvm::toString(cpu.takeError()), wrong);
  auto gpu = emitGpu(kernels, context.context);
  EXPECT_EQ(llvm::toString(gpu.takeError()), wrong);
}

// Passes run without verifiers, so each emitter looks for itself.
TEST(PlanOps, OthersAreRefusedByEachEmitter) {
  expectRefused("f32", "%r = math.cbrt %a : f32",
                "kernel 'odd' holds op 'math.cbrt', which no target has code "
                "for");
  expectRefused("i7", "",
                "kernel 'odd' has elements of type i7, which no "
                "target has code for");
}

TEST(PlanOps, ElementsHaveOneOfNineTypes) {
  Context context;
  mlir::Builder b(&context.context);
  for (mlir::Type type : {mlir::Type(b.getF32Type()), mlir::Type(b.getI1Type()),
                          mlir::Type(b.getIntegerType(8, /*isSigned=*/false))})
    EXPECT_TRUE(isElementType(type));
  for (mlir::Type type :
       {mlir::Type(b.getIndexType()), mlir::Type(b.getIntegerType(128)),
        mlir::Type(b.getNoneType())})
    EXPECT_FALSE(isElementType(type));
}
