// Where positions have 32 bits, and where sizes ask for 64.

#include "check.h"
#include "tests/codegen/kernel_text.h"

#include "codegen/gpu/width.h"

using namespace gradus;
using namespace gradus::test;

namespace {

bool isNarrow(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  plan::KernelOp kernel = *module->getOps<plan::KernelOp>().begin();
  return fits32Bits(kernel, chooseMapping(kernel));
}

const char *copied = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n";

/// y[i, j] = x at a map, where a guard holds.
std::string copyOf(std::vector<int64_t> shape, std::vector<int64_t> from,
                   std::string map, std::string guard = "") {
  NestText nest{shape,
                {},
                {},
                {{"%x", buffer(from), map, guard}},
                {{"%y", buffer(shape), "(i, j) -> (i, j)"}},
                {},
                "",
                copied};
  return kernelOf("copy", nest, "rows", shape[0]);
}

constexpr int64_t k1G = 1 << 30;

} // namespace

TEST(GpuWidth, Is32BitsWhereAllFits) {
  EXPECT_TRUE(isNarrow(copyOf({4, 8}, {4, 8}, "(i, j) -> (i, j)")));
  EXPECT_TRUE(
      isNarrow(kernelOf("image", convolution({2, 2, 3, 6, 3, 1}), "rows", 2)));
  EXPECT_TRUE(
      isNarrow(copyOf({8192, 50304}, {8192, 50304}, "(i, j) -> (i, j)")));
}

TEST(GpuWidth, Is64BitsWhereElementsAreFarApart) {
  EXPECT_TRUE(isNarrow(copyOf({1, 8}, {4, k1G / 4}, "(i, j) -> (i + 1, j)")));
  EXPECT_FALSE(isNarrow(copyOf({4, 8}, {4, k1G}, "(i, j) -> (i, j)")));
  EXPECT_FALSE(
      isNarrow(copyOf({4, k1G / 2}, {4, k1G / 2}, "(i, j) -> (i, j)")));
}

TEST(GpuWidth, Is64BitsWhereGuardsAsk) {
  std::string map = "(i, j) -> (i, j)";
  EXPECT_TRUE(isNarrow(
      copyOf({4, 8}, {4, 8}, map, "(i, j) : (i * 65536 - 65536 >= 0)")));
  EXPECT_FALSE(isNarrow(
      copyOf({4, 8}, {4, 8}, map, "(i, j) : (i * 1073741824 - 65536 >= 0)")));
  EXPECT_FALSE(isNarrow(copyOf({4, 8}, {4, 8}, map,
                               "(i, j) : ((i * 1073741824) floordiv 7 >= 0)")));
}

TEST(GpuWidth, Is64BitsWhereSumsAreLong) {
  auto sum = [](int64_t columns) {
    NestText nest{{2},
                  {columns},
                  {{"%x", buffer({2, 8}), "(i, j) -> (i, j mod 8)"}},
                  {},
                  {{"%y", buffer({2}), "(i) -> (i)"}},
                  {"sum"},
                  copied,
                  plainSum};
    return isNarrow(kernelOf("sum", nest, "rows", 2));
  };
  EXPECT_TRUE(sum(k1G / 2));
  EXPECT_FALSE(sum(k1G));
}

/// What 32 bits would get wrong: 2^32 is 0 there, and -2^32 too.
TEST(GpuWidth, CountsRightIn64Bits) {
  std::string text = copyOf({40, 7}, {40, 7}, "(i, j) -> (i, j)",
                            "(i, j) : (i * 4294967296 - 64424509440 >= 0)");
  ASSERT_FALSE(isNarrow(text));
  GpuCheck().run(text);
}
