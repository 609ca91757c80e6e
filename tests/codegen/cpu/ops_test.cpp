// Ops of regions one by one, in vectors and alone, on every kind of register.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include "codegen/cpu/ops.h"

using namespace gradus::test;

/// y = what a body makes of two inputs; 37 elements, so that vectors and a
/// ragged end both occur.
static std::string pointwise(std::string name, std::string in, std::string out,
                             std::string body) {
  NestText nest{{37},
                {},
                {},
                {{"%x", buffer({37}, in), "(i) -> (i)"},
                 {"%z", buffer({37}, in), "(i) -> (i)"}},
                {{"%y", buffer({37}, out), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(%a: " + in + ", %b: " + in + "):\n" + body +
                    "\n plan.yield %r : " + out + "\n"};
  return kernelOf(name, nest, "rows", 37);
}

TEST(CpuOps, ComputesWithFloats) {
  std::string text;
  for (std::string type : {"f32", "f64", "bf16"})
    for (std::string op :
         {"addf", "subf", "mulf", "divf", "maximumf", "minimumf"})
      text += pointwise(op + "_" + type, type, type,
                        "%r = arith." + op + " %a, %b : " + type);
  text += pointwise("negf", "f32", "f32", "%r = arith.negf %a : f32");
  text += pointwise("absf", "f32", "f32", "%r = math.absf %a : f32");
  KernelCheck().run(text);
}

TEST(CpuOps, FusesProductsIntoSumsAndDifferences) {
  std::string square = "%p = arith.mulf %a, %b : f32\n",
              both = square + "%q = arith.mulf %b, %b : f32\n";
  KernelCheck().run(
      pointwise("sum", "f32", "f32", square + "%r = arith.addf %a, %p : f32") +
      pointwise("less", "f32", "f32", square + "%r = arith.subf %p, %a : f32") +
      pointwise("from", "f32", "f32", square + "%r = arith.subf %a, %p : f32") +
      pointwise("two", "f32", "f32", both + "%r = arith.subf %p, %q : f32") +
      pointwise("self", "f32", "f32", square + "%r = arith.addf %p, %p : f32"));
}

// Some numbers are NaN, some equal.
TEST(CpuOps, ComparesFloatsByEveryPredicate) {
  std::string text;
  for (std::string predicate :
       {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge",
        "ult", "ule", "une", "uno"})
    text += pointwise(predicate, "f32", "i1", R"(
      %zero = arith.constant 0.0 : f32
      %quarter = arith.constant 0.25 : f32
      %nan = arith.constant 0x7FC00000 : f32
      %large = arith.cmpf ogt, %a, %quarter : f32
      %u = arith.select %large, %nan, %a : f32
      %negative = arith.cmpf olt, %b, %zero : f32
      %v = arith.select %negative, %a, %b : f32
      %r = arith.cmpf )" + predicate + ", %u, %v : f32");
  KernelCheck().run(text);
}

TEST(CpuOps, ComputesWithIntegers) {
  std::string text;
  for (std::string type : {"i32", "i64"})
    for (std::string op : {"addi", "subi", "muli", "andi"})
      text += pointwise(op + "_" + type, type, type,
                        "%r = arith." + op + " %a, %b : " + type);
  text +=
      pointwise("divsi", "i64", "i64",
                "%c = arith.constant 3 : i64\n%r = arith.divsi %a, %c : i64");
  KernelCheck().run(text);
}

TEST(CpuOps, ComparesAndSelects) {
  KernelCheck().run(
      pointwise("floats", "f32", "f32",
                "%c = arith.cmpf olt, %a, %b : f32\n%r = arith.select %c, %a, "
                "%b : f32") +
      pointwise("bits", "bf16", "bf16",
                "%c = arith.cmpf ogt, %a, %b : bf16\n%r = arith.select %c, %a, "
                "%b : bf16") +
      pointwise("whole", "i32", "i1", "%r = arith.cmpi sle, %a, %b : i32") +
      pointwise("logic", "i1", "i1", "%r = arith.andi %a, %b : i1"));
}

TEST(CpuOps, Converts) {
  KernelCheck check;
  check.targets = {"cpu", "cpu:x86-64-v3", "cpu:x86-64-v4"};
  check.run(
      pointwise("wider", "f32", "f64", "%r = arith.extf %a : f32 to f64") +
      pointwise("to_bf16", "f32", "bf16",
                "%r = arith.truncf %a : f32 to bf16") +
      pointwise("to_f16", "f32", "f16", "%r = arith.truncf %a : f32 to f16") +
      pointwise("from_bf16", "bf16", "f32",
                "%r = arith.extf %a : bf16 to f32") +
      pointwise("real", "i64", "f32", "%r = arith.sitofp %a : i64 to f32") +
      pointwise("whole", "f32", "i32", "%r = arith.fptosi %a : f32 to i32") +
      pointwise("byte", "i64", "i8", "%r = arith.trunci %a : i64 to i8") +
      pointwise("flag", "i1", "i64", "%r = arith.extui %a : i1 to i64"));
}

/// Rounding to bf16 by integers is what the instruction does.
TEST(CpuOps, RoundsToBf16WithoutTheInstruction) {
  KernelCheck check;
  check.targets = {"cpu:x86-64-v2", "cpu:x86-64-v4"};
  check.run(pointwise("sum", "bf16", "bf16", "%r = arith.addf %a, %b : bf16"));
}

static std::vector<int32_t> divided(std::string op, std::vector<int32_t> x,
                                    std::vector<int32_t> y) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      pointwise("k", "i32", "i32", "%r = arith." + op + " %a, %b : i32"),
      &context.context);
  auto kernels = llvm::to_vector(module->getOps<gradus::plan::KernelOp>());
  auto target = llvm::cantFail(gradus::cpuTarget("cpu"));
  Code code(llvm::cantFail(gradus::emitCpu(kernels, target)));
  x.resize(37), y.resize(37);
  std::vector<int32_t> result(37);
  void *table[] = {x.data(), y.data(), result.data()};
  code.run(0, table, 0, 37);
  return result;
}

/// The processor traps on the least number by -1.
TEST(CpuOps, DividesByWhateverComes) {
  using Numbers = std::vector<int32_t>;
  Numbers x = {INT32_MIN, 7, -7, INT32_MIN, 5}, y = {-1, -1, -2, 2, 0};
  Numbers quotients = divided("divsi", x, y), rests = divided("remsi", x, y);
  quotients.resize(4), rests.resize(4);
  EXPECT_EQ(quotients, (Numbers{INT32_MIN, -7, 3, INT32_MIN / 2}));
  EXPECT_EQ(rests, (Numbers{0, 0, -1, 0}));
}
