// Scalars on the emulated GPU: every op that the CPU has, on all its types.

#include "check.h"
#include "tests/codegen/kernel_text.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// A kernel that does `op` to two lines of elements.
std::string applied(std::string op, std::string type, std::string result,
                    bool isUnary) {
  std::string name = op;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  std::string operands = isUnary ? "%a" : "%a, %b";
  NestText nest{{300},
                {},
                {},
                {{"%x", buffer({300}, type), "(i) -> (i)"},
                 {"%w", buffer({300}, type), "(i) -> (i)"}},
                {{"%y", buffer({300}, result), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(%a: " + type + ", %b: " + type + "):\n %r = " + op +
                    " " + operands + " : " + type +
                    (type == result ? "" : " to " + result) +
                    "\n plan.yield %r : " + result + "\n"};
  return kernelOf(name + "_" + type + "_" + result, nest, "serial");
}

} // namespace

TEST(GpuRegion, ComputesFloats) {
  std::string text;
  for (std::string type : {"f32", "f64", "bf16", "f16"}) {
    for (const char *op :
         {"addf", "subf", "mulf", "divf", "maximumf", "minimumf", "remf"})
      text += applied(std::string("arith.") + op, type, type, false);
    for (const char *op :
         {"exp",  "exp2", "expm1", "log",   "log2",  "log10",    "log1p",
          "erf",  "tanh", "sinh",  "cosh",  "sin",   "cos",      "tan",
          "asin", "acos", "atan",  "asinh", "atanh", "sqrt",     "rsqrt",
          "absf", "ceil", "floor", "trunc", "round", "roundeven"})
      text += applied(std::string("math.") + op, type, type, true);
    text += applied("math.powf", type, type, false);
  }
  for (std::string type : {"f32", "f64"}) // LLVM 22 gets bf16 wrong on x86.
    text += applied("math.copysign", type, type, false);
  GpuCheck check;
  check.tolerance = 2e-5;
  check.run(text);
}

TEST(GpuRegion, ComputesIntegers) {
  std::string text;
  for (std::string type : {"i8", "i32", "i64"})
    for (const char *op :
         {"addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi",
          "ori", "xori", "maxsi", "minsi", "maxui", "minui"})
      text += applied(std::string("arith.") + op, type, type, false);
  GpuCheck().run(text);
}

TEST(GpuRegion, Converts) {
  std::string text;
  for (auto [op, from, to] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"arith.extf", "bf16", "f32"},
           {"arith.extf", "f16", "f64"},
           {"arith.truncf", "f32", "bf16"},
           {"arith.truncf", "f64", "f16"},
           {"arith.sitofp", "i32", "bf16"},
           {"arith.sitofp", "i64", "f64"},
           {"arith.fptosi", "f32", "i32"},
           {"arith.extui", "i1", "i64"},
           {"arith.trunci", "i64", "i8"},
           {"arith.bitcast", "bf16", "i16"},
           {"arith.bitcast", "f32", "i32"}})
    text += applied(op, from, to, true);
  GpuCheck().run(text);
}

// Numbers, infinities (x / 0) and NaNs (x / 0 - x / 0).
TEST(GpuRegion, TellsNumbersFromOthers) {
  std::string text;
  for (std::string type : {"f32", "f64", "bf16"})
    for (std::string op : {"isnan", "isinf", "isfinite"})
      for (std::string of : {"a", "q", "n"}) {
        NestText nest{
            {300},
            {},
            {},
            {{"%x", buffer({300}, type), "(i) -> (i)"}},
            {{"%y", buffer({300}, "i1"), "(i) -> (i)"}},
            {},
            "",
            "\n ^bb0(%a: " + type + "):\n %z = arith.constant 0.0 : " + type +
                "\n %q = arith.divf %a, %z : " + type +
                "\n %n = arith.subf %q, %q : " + type + "\n %r = math." + op +
                " %" + of + " : " + type + "\n plan.yield %r : i1\n"};
        text += kernelOf(op + "_" + of + "_" + type, nest, "serial");
      }
  GpuCheck().run(text);
}
