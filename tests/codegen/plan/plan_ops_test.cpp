// Every op that a nest may hold is emitted for every device, and nothing else
// is let through.

#include "tests/codegen/gpu/check.h"
#include "tests/codegen/kernel_text.h"
#include "tests/codegen/nests/needs_cuda_toolkit.h"

#include "codegen/gpu/object.h"
#include "codegen/gpu/ptx.h"
#include "codegen/plan/plan_ops.h"
#include "ir/scalar_ops.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// An op of the table with a type for each of its words.
struct TypedOp {
  std::string name;
  std::vector<std::string> operands;
  std::string result;
};

/// The types that a word of the table stands for.
std::vector<std::string> typesOf(llvm::StringRef word) {
  if (word == "float")
    return {"f16", "bf16", "f32", "f64"};
  if (word == "integer")
    return {"i1", "i8", "i16", "i32", "i64"};
  return {word.str()};
}

int bitsOf(llvm::StringRef type) {
  int bits = 64; // of an index
  type.ltrim("bfi").getAsInteger(10, bits);
  return bits;
}

/// Whether a result of so many bits is what the table says of it.
bool isAsSaid(llvm::StringRef word, int bits, int operandBits) {
  return word == "wider"      ? bits > operandBits
         : word == "narrower" ? bits < operandBits
                              : word != "equal" || bits == operandBits;
}

/// An op for all types of one of its signatures.
std::vector<TypedOp> typed(llvm::StringRef name,
                           const ScalarOp::Signature &signature) {
  llvm::SmallVector<llvm::StringRef> words;
  signature.operands.split(words, ' ');
  auto [how, kind] = signature.result.split(' ');
  if (kind.empty())
    std::swap(how, kind);
  bool isSame = how.empty() && kind == words.back();
  std::vector<TypedOp> all;
  for (const std::string &type : typesOf(words.back()))
    for (const std::string &result :
         isSame ? std::vector{type} : typesOf(kind)) {
      if (!isAsSaid(how, bitsOf(result), bitsOf(type)))
        continue;
      TypedOp &made = all.emplace_back(TypedOp{name.str(), {}, result});
      for (llvm::StringRef word : words)
        made.operands.push_back(word == words.back() ? type : word.str());
    }
  return all;
}

/// Makes %p of the last operand where an op gives no number for all of them.
std::string limited(const TypedOp &op, const std::string &last) {
  const std::string &type = op.operands.back(), line = " : " + type + "\n ";
  if (op.name == "arith.fptoui") // of no negative ones
    return " %p = math.absf " + last + line;
  if (op.name == "arith.fptosi" && op.result == "i1") // 0 and -1
    return " %q = math.absf " + last + line + "%p = arith.negf %q" + line;
  if (llvm::StringRef(op.name).starts_with("arith.sh")) // less than its bits
    return " %q = arith.constant " + std::to_string(bitsOf(type) - 1) + line +
           "%p = arith.andi " + last + ", %q" + line;
  return "";
}

/// The op's own line, of operands %a0, %a1 ...; comparisons by "less than".
std::string lineOf(const TypedOp &op) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < op.operands.size(); ++i)
    operands.push_back("%a" + std::to_string(i));
  std::string before = limited(op, operands.back()), attributes;
  if (!before.empty())
    operands.back() = "%p";
  if (op.name == "arith.cmpf")
    attributes = " <{predicate = 4 : i64}>";
  else if (op.name == "arith.cmpi")
    attributes = " <{predicate = 2 : i64}>";
  return before + " %r = \"" + op.name + "\"(" + llvm::join(operands, ", ") +
         ")" + attributes + " : (" + llvm::join(op.operands, ", ") + ") -> " +
         op.result + "\n";
}

/// A kernel that does an op to lines of elements. What is no element becomes
/// one.
std::string applied(const TypedOp &op) {
  std::vector<std::string> arguments;
  Operands reads;
  for (auto [i, type] : llvm::enumerate(op.operands)) {
    std::string number = std::to_string(i);
    arguments.push_back("%a" + number + ": " + type);
    reads.push_back({"%x" + number, buffer({100}, type), "(i) -> (i)"});
  }
  std::string result = op.result, line = lineOf(op), last = "%r";
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
  std::string name = llvm::StringRef(op.name).split('.').second.str();
  return kernelOf(name + "_" + op.operands.back() + "_" + op.result, nest,
                  "serial");
}

std::string everyOp() {
  std::string text;
  for (const ScalarOp &op : scalarOps())
    for (const ScalarOp::Signature &signature : op.signatures())
      for (const TypedOp &one : typed(op.name, signature))
        text += applied(one);
  return text;
}

} // namespace

TEST(PlanOps, AreComputedByACpuAndAnEmulatedGpu) {
  GpuCheck check;
  check.tolerance = 2e-5;
  check.run(everyOp());
}

TEST(PlanOps, BecomePtxThatCallsNothing) {
  NEEDS_CUDA_TOOLKIT();
  Context context;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(everyOp(), &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  ASSERT_GT(kernels.size(), 4 * scalarOps().size());
  GpuCode code = llvm::cantFail(emitGpu(kernels, context.context));
  auto ptx = emitPtx(llvm::cantFail(lowerGpu(code)), {"sm_80"},
                     llvm::cantFail(cudaToolkit()));
  ASSERT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
  const std::string &text = ptx->front();
  EXPECT_EQ(text.find(".extern .func"), std::string::npos)
      << text.substr(text.find(".extern .func"), 200);
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
  expectRefused("f32",
                "%n = arith.truncf %a : f32 to f8E4M3FN\n"
                " %r = arith.extf %n : f8E4M3FN to f32",
                "kernel 'odd' holds op 'arith.truncf' of type f8E4M3FN, which "
                "no target has code for");
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
