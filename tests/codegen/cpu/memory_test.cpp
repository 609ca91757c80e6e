// Guarded reads, odd steps, bytes for flags: nothing outside a buffer is read
// into a result and nothing outside is written.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

using namespace gradus::test;

static const char *copy = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n";

static std::string moved(std::string name, std::vector<int64_t> to,
                         std::vector<int64_t> from, std::string map,
                         std::string guard, std::string split = "serial") {
  std::string dims = to.size() == 1 ? "(i)" : "(i, j)";
  NestText nest{to,
                {},
                {},
                {{"%x", buffer(from), dims + " -> " + map,
                  guard.empty() ? "" : dims + " : " + guard}},
                {{"%y", buffer(to), dims + " -> " + dims}},
                {},
                "",
                copy};
  return kernelOf(name, nest, split, to[0]);
}

TEST(CpuMemory, ReadsZeroOutsideAGuard) {
  KernelCheck().run(
      moved("pad", {7, 40}, {5, 36}, "(i - 1, j - 2)",
            "(i - 1 >= 0, -i + 5 >= 0, j - 2 >= 0, -j + 37 >= 0)") +
      moved("row", {9, 33}, {4, 33}, "(i - 3, j)",
            "(i - 3 >= 0, -i + 6 >= 0)") +
      moved("one", {9, 33}, {4}, "(i - 3)", "(i - 3 >= 0, -i + 6 >= 0)") +
      moved("lane", {5, 40}, {5}, "(i)", "(j - 7 >= 0, -j + 20 >= 0)") +
      moved("equal", {12, 40}, {40}, "(j)", "(i - j == 0)"));
}

TEST(CpuMemory, ReadsSpreadElements) {
  KernelCheck().run(
      moved("spread", {4, 21}, {4, 11}, "(i, j floordiv 2)", "(j mod 2 == 0)") +
      moved("thirds", {4, 40}, {4, 14}, "(i, (j - 1) floordiv 3)",
            "(j - 1 >= 0, (j - 1) mod 3 == 0)") +
      moved("both", {9, 21}, {5, 11}, "(i floordiv 2, j floordiv 2)",
            "(i mod 2 == 0, j mod 2 == 0)", "rows"));
}

TEST(CpuMemory, WritesScatteredElements) {
  NestText nest{{6, 20},
                {},
                {},
                {{"%x", buffer({6, 20}), "(i, j) -> (i, j)"}},
                {{"%y", buffer({20, 6}), "(i, j) -> (j, i)"}},
                {},
                "",
                copy};
  KernelCheck().run(kernelOf("turn", nest, "rows", 6));
}

TEST(CpuMemory, KeepsAFlagInAByte) {
  std::string flags = buffer({5, 19}, "i1"), at = "(i, j) -> (i, j)";
  NestText nest{{5, 19},
                {},
                {},
                {{"%x", flags, at, "(i, j) : (j - 3 >= 0)"},
                 {"%z", buffer({5}, "i1"), "(i, j) -> (i)"}},
                {{"%y", flags, at}},
                {},
                "",
                R"(
  ^bb0(%a: i1, %c: i1):
    %r = arith.andi %a, %c : i1
    plan.yield %r : i1
)"};
  KernelCheck().run(kernelOf("flags", nest, "rows", 5));
}

/// Three outputs that share a buffer, element by element.
static std::string threeInOne(int64_t count) {
  std::string from = buffer({5, count}), to = buffer({5, 3 * count}),
              at = "(i, j) -> (i, j)";
  NestText nest{{5, count},
                {},
                {},
                {{"%x", from, at}, {"%z", from, at}},
                {{"%y", to, "(i, j) -> (i, j * 3)"},
                 {"%y", to, "(i, j) -> (i, j * 3 + 1)"},
                 {"%y", to, "(i, j) -> (i, j * 3 + 2)"}},
                {},
                "",
                R"(
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %a, %c : f32
    plan.yield %a, %r, %c : f32, f32, f32
)"};
  return kernel("three" + std::to_string(count),
                {{"%x", from, ""}, {"%z", from, ""}, {"%y", to, ""}}, 2, "rows",
                5, nest.text());
}

TEST(CpuMemory, WritesOutputsThatLieSideBySide) {
  KernelCheck().run(threeInOne(32) + threeInOne(64) + threeInOne(16) +
                    threeInOne(41) + threeInOne(7));
}
