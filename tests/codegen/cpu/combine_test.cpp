// Sums, maxima and minima over lanes give the same bits one by one and
// together.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

using namespace gradus::test;

/// y[i] = what a row of x combines to.
static std::string rows(std::string kind, int64_t count, int64_t length,
                        std::string element) {
  std::string name =
      kind + std::to_string(count) + "_" + std::to_string(length) + element;
  std::string pass =
      "\n ^bb0(%a: " + element + "):\n plan.yield %a : " + element + "\n";
  NestText nest{{count},
                {length},
                {{"%x", buffer({count, length}, element), "(i, j) -> (i, j)"}},
                {},
                {{"%y", buffer({count}, element), "(i) -> (i)"}},
                {kind},
                pass,
                pass};
  return kernelOf(name, nest, "rows", count);
}

TEST(CpuCombine, CombinesAnyNumberOfRows) {
  std::string text;
  for (std::string kind : {"sum", "max", "min"})
    for (int64_t count : {1, 2, 3, 5, 8, 16, 23})
      for (int64_t length : {7, 40})
        text += rows(kind, count, length, "f32");
  KernelCheck().run(text);
}

TEST(CpuCombine, CombinesOtherElements) {
  std::string text;
  for (std::string kind : {"sum", "max", "min"})
    for (std::string element : {"f64", "i32", "i64", "bf16"})
      text += rows(kind, 5, 33, element);
  KernelCheck().run(text);
}

TEST(CpuCombine, CombinesFarNegativeNumbers) {
  // The identity of max must lie below them all.
  std::string shift = "\n ^bb0(%a: f32):\n %c = arith.constant -1.0e30 : f32\n"
                      " %b = arith.addf %a, %c : f32\n plan.yield %b : f32\n";
  NestText nest{{3},
                {21},
                {{"%x", buffer({3, 21}), "(i, j) -> (i, j)"}},
                {},
                {{"%y", buffer({3}), "(i) -> (i)"}},
                {"max"},
                shift,
                plainSum};
  KernelCheck().run(kernelOf("low", nest, "rows", 3));
}
