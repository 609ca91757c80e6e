// Sums over threads of several warps, down columns and along rows, of values of
// all widths: compared with the CPU's, on any number of blocks.

#include "gpu_check.h"
#include "kernel_text.h"

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
