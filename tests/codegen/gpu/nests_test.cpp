// Nests on the emulated GPU against the CPU's code: products, windows, sums of
// all sizes, guards, and what passes through scratch.

#include "check.h"
#include "tests/codegen/kernel_text.h"
#include "tests/codegen/random_nests.h"

using namespace gradus;
using namespace gradus::test;

namespace {

NestText sumOf(std::vector<int64_t> parallel, std::vector<int64_t> reduced,
               std::string shape, std::string map, std::string kind = "sum") {
  std::string all = parallel.empty() ? "() -> ()" : "(i) -> (i)";
  return {parallel,
          reduced,
          {{"%x", shape, map}},
          {},
          {{"%y", buffer(parallel), all}},
          {kind},
          "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
          plainSum};
}

const char *copied = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n";

} // namespace

TEST(GpuNests, Multiplies) {
  GpuCheck().run(
      kernelOf("dense", dense(5, 7, 19, "mk", "nk", true), "serial") +
      kernelOf("turned", dense(33, 20, 64, "km", "kn", false), "rows", 33) +
      kernelOf("image", convolution({2, 2, 3, 6, 3, 1}), "rows", 2) +
      kernelOf("strided", convolutionBackwardData({1, 2, 3, 7, 3, 1, 2}),
               "rows", 1) +
      kernelOf("pool", maxPool(2, 3, 8, 2), "rows", 2));
}

/// Few points with many values: a warp shares a point, or the whole block.
TEST(GpuNests, SharesLongSums) {
  std::string text;
  int count = 0;
  for (int64_t length : {1, 31, 32, 100, 1024, 3000}) {
    std::string n = std::to_string(count++), x = buffer({3, length}),
                y = buffer({length, 40});
    text += kernelOf("rows" + n, sumOf({3}, {length}, x, "(i, j) -> (i, j)"),
                     "rows", 3);
    text += kernelOf("columns" + n,
                     sumOf({40}, {length}, y, "(i, j) -> (j, i)", "max"),
                     "rows", 40);
    text += kernelOf("all" + n, sumOf({}, {3, length}, x, "(i, j) -> (i, j)"),
                     "serial");
  }
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}

/// 64 bits take two shuffles, 16 one with room.
TEST(GpuNests, SharesSumsOfAllWidths) {
  std::string text;
  for (std::string type : {"f64", "i64", "i32", "f16", "bf16", "i8"}) {
    NestText nest =
        sumOf({3}, {2000}, buffer({3, 2000}, type), "(i, j) -> (i, j)");
    std::string body = "\n ^bb0(%a: " + type +
                       "):\n plan.yield %a, %a : " + type + ", " + type + "\n";
    nest.map = body;
    nest.combine = {"sum", "min"};
    nest.then = "\n ^bb0(%a: " + type + ", %b: " + type +
                "):\n plan.yield %a, %b : " + type + ", " + type + "\n";
    nest.outs = {{"%y", buffer({3}, type), "(i) -> (i)"},
                 {"%z", buffer({3}, type), "(i) -> (i)"}};
    text += kernelOf("wide_" + type, nest, "rows", 3);
  }
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}

/// Rows of every kind: a block an item, a warp an item, a thread an item.
TEST(GpuNests, PassesValuesThroughScratch) {
  auto norm = [](int64_t rows, int64_t columns, std::string split) {
    bool serial = split == "serial";
    std::string one = serial ? buffer({rows}) : buffer({}),
                place = serial ? "(i) -> (i)" : "(i) -> ()",
                wide = serial ? "(i, j) -> (i)" : "(i, j) -> ()",
                x = buffer({rows, columns}), row = "(i, j) -> (i, j)";
    NestText high = sumOf({rows}, {columns}, x, row, "max");
    high.outs = {{"%h", one, place}};
    NestText share{{rows, columns},
                   {},
                   {},
                   {{"%x", x, row}, {"%h", one, wide}},
                   {{"%y", x, row}},
                   {},
                   "",
                   R"(
  ^bb0(%a: f32, %m: f32):
    %q = arith.subf %a, %m : f32
    plan.yield %q : f32
)"};
    std::string name =
        split + std::to_string(rows) + "x" + std::to_string(columns);
    return kernel(name, {{"%x", x, ""}, {"%y", x, ""}}, 1, split, rows,
                  "  %h = plan.scratch : " + one + "\n" + high.text() +
                      share.text());
  };
  GpuCheck().run(norm(9, 10, "serial") + norm(5, 700, "rows") +
                 norm(3, 3000, "rows") + norm(300, 70, "rows") +
                 norm(20000, 3, "rows") + norm(200, 300, "serial"));
}

/// More scratch than shared memory has: each block has some of the device's.
TEST(GpuNests, PutsLargeScratchIntoTheDevice) {
  int64_t rows = 3, columns = 20000;
  std::string x = buffer({rows, columns}), line = buffer({columns}),
              row = "(i, j) -> (i, j)", at = "(i, j) -> (j)";
  NestText first{{rows, columns},    {}, {}, {{"%x", x, row}},
                 {{"%s", line, at}}, {}, "", copied};
  NestText second{
      {rows, columns},  {}, {}, {{"%s", line, "(i, j) -> (19999 - j)"}},
      {{"%y", x, row}}, {}, "", copied};
  GpuCheck().run(kernel(
      "reverse", {{"%x", x, ""}, {"%y", x, ""}}, 1, "rows", rows,
      "  %s = plan.scratch : " + line + "\n" + first.text() + second.text()));
}

TEST(GpuNests, DoWhatRandomOnesSay) {
  const char *times = std::getenv("GRADUS_SEEDS");
  unsigned count = 24 * (times ? std::atoi(times) : 1);
  std::string text;
  for (unsigned seed = 0; seed < count; ++seed)
    text += RandomNest(seed).text("random" + std::to_string(seed));
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}

/// Vectors, columns and rows; gpu_lanes_test counts how many of each.
TEST(GpuNests, DoWhatWideRandomOnesSay) {
  const char *times = std::getenv("GRADUS_SEEDS");
  unsigned count = kWideNests * (times ? std::atoi(times) : 1);
  std::string text;
  for (unsigned seed = 0; seed < count; ++seed)
    text += RandomNest(seed, true).text("wide" + std::to_string(seed));
  GpuCheck check;
  check.tolerance = 1e-4;
  check.run(text);
}
