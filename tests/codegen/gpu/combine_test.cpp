// Sums over threads of one warp or several, down columns and along rows, of
// values of all widths: compared with the CPU's, on any number of blocks.

#include "check.h"
#include "tests/codegen/kernel_text.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// Sum and smallest element, down columns or along rows.
std::string bounds(int64_t points, int64_t length, std::string type,
                   bool areColumns) {
  std::string one = "\n ^bb0(%a: " + type + "):\n plan.yield %a, %a : " + type +
                    ", " + type + "\n",
              both = "\n ^bb0(%a: " + type + ", %b: " + type +
                     "):\n plan.yield %a, %b : " + type + ", " + type + "\n";
  std::vector<int64_t> shape = {length, points};
  if (!areColumns)
    std::swap(shape[0], shape[1]);
  NestText nest{{points},
                {length},
                {{"%x", buffer(shape, type),
                  areColumns ? "(i, k) -> (k, i)" : "(i, k) -> (i, k)"}},
                {},
                {{"%y", buffer({points}, type), "(i) -> (i)"},
                 {"%z", buffer({points}, type), "(i) -> (i)"}},
                {"sum", "min"},
                one,
                both};
  std::string name = std::string(areColumns ? "columns" : "rows") + "_" + type +
                     "_" + std::to_string(points) + "_" +
                     std::to_string(length);
  return kernelOf(name, nest, "rows", points);
}

/// Sums down the columns of each of 200 items, which a warp has.
std::string itemColumns(int64_t points, int64_t length, std::string type) {
  std::string x = buffer({200, length, points}, type),
              y = buffer({200, points}, type), s = buffer({points}, type),
              copied =
                  "\n ^bb0(%a: " + type + "):\n plan.yield %a : " + type + "\n";
  NestText sum{{200, points},
               {length},
               {{"%x", x, "(item, i, k) -> (item, k, i)"}},
               {},
               {{"%s", s, "(item, i) -> (i)"}},
               {"sum"},
               copied,
               copied};
  NestText out{{200, points},
               {},
               {},
               {{"%s", s, "(item, i) -> (i)"}},
               {{"%y", y, "(item, i) -> (item, i)"}},
               {},
               "",
               copied};
  return kernel("items_" + type + "_" + std::to_string(points) + "_" +
                    std::to_string(length),
                {{"%x", x, ""}, {"%y", y, ""}}, 1, "rows", 200,
                "  %s = plan.scratch : " + s + "\n" + sum.text() + out.text());
}

int64_t shufflesOf(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  GpuCode code = llvm::cantFail(emitGpu(kernels, context.context));
  int64_t count = 0;
  code.module->walk([&](mlir::gpu::ShuffleOp) { ++count; });
  return count;
}

} // namespace

TEST(GpuCombine, SumsValuesOfAllWidths) {
  std::string text;
  for (std::string type : {"f64", "f32", "f16", "bf16", "i64", "i32", "i8"})
    for (bool areColumns : {true, false})
      text += bounds(24, 1100, type, areColumns);
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}

/// Tiles that points do not fill, as many lanes as there are, one column.
TEST(GpuCombine, SumsColumnsOfAllCounts) {
  std::string text;
  for (int64_t points : {8, 9, 16, 17, 33, 64, 136, 1000})
    for (int64_t length : {32, 100, 513})
      text += bounds(points, length, points % 2 ? "f32" : "bf16", true);
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}

/// Warps that have all of a point's lanes: fewer of them than points, and more.
TEST(GpuCombine, SumsColumnsOfItems) {
  std::string text;
  for (int64_t points : {8, 16, 24, 64})
    for (auto [length, type] :
         {std::pair(16, "f32"), {20, "bf16"}, {32, "f64"}, {64, "i8"}})
      if (points * length <= 1024)
        text += itemColumns(points, length, type);
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}

/// Eight lanes with four points: two go, then one, then both lanes add the one
/// that is left; and so for sum and minimum. Of 64 bits there are two halves.
TEST(GpuCombine, SharesPointsOut) {
  EXPECT_EQ(shufflesOf(bounds(64, 512, "f32", true)), 2 * (2 + 1 + 1));
  EXPECT_EQ(shufflesOf(bounds(64, 512, "f64", true)), 2 * 2 * (1 + 1 + 1));
  EXPECT_EQ(shufflesOf(bounds(3, 4096, "f32", false)), 2 * 5);
}
