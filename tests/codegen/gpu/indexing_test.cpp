// Gathers and sums at indices on the emulated GPU, of indices from both ends
// and outside.

#include "check.h"
#include "tests/codegen/kernel_text.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// `op` from %x at %i into %y, over the slices of %y.
std::string indexed(std::string op, std::string x, std::string i, std::string y,
                    int64_t axis, int64_t batch, int64_t slices) {
  static int count = 0;
  return kernel("indexed" + std::to_string(count++),
                {{"%x", x, ""}, {"%i", i, ""}, {"%y", y, ""}}, 2, "rows",
                slices,
                "  plan." + op + " %x at %i into %y axis " +
                    std::to_string(axis) + " batch " + std::to_string(batch) +
                    " : " + x + ", " + i + ", " + y + "\n");
}

} // namespace

TEST(GpuIndexing, Gathers) {
  GpuCheck().run(indexed("take", buffer({7, 37}), buffer({5}, "i32"),
                         buffer({5, 37}), 0, 0, 5) +
                 indexed("take", buffer({2, 3, 8}, "bf16"),
                         buffer({2, 4}, "i64"), buffer({2, 3, 4}, "bf16"), 2, 1,
                         24) +
                 indexed("take", buffer({12}, "i1"), buffer({3, 3}, "i64"),
                         buffer({3, 3}, "i1"), 0, 0, 9));
}

TEST(GpuIndexing, Sums) {
  GpuCheck check;
  check.tolerance = 1e-5;
  check.run(indexed("add_at", buffer({50, 37}), buffer({50}, "i64"),
                    buffer({9, 37}), 0, 0, 9) +
            indexed("add_at", buffer({2, 3, 8}), buffer({2, 8}, "i32"),
                    buffer({2, 3, 5}), 2, 1, 30) +
            indexed("add_at", buffer({20, 4}, "i32"), buffer({20}, "i64"),
                    buffer({6, 4}, "i32"), 0, 0, 6));
}
