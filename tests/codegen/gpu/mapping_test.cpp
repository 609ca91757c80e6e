// Which threads do what: by the sizes of nests.

#include "check.h"
#include "tests/codegen/kernel_text.h"

#include "codegen/gpu/mapping.h"

using namespace gradus;
using namespace gradus::test;

namespace {

GpuMapping mappingOf(const std::string &text) {
  static Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  return chooseMapping(*module->getOps<plan::KernelOp>().begin());
}

std::string copied(std::string name, std::string from, std::string to,
                   int64_t rows, int64_t columns) {
  std::string row = "(i, j) -> (i, j)", line = "(i, j) -> (j)";
  auto type = [&](const std::string &value) {
    return value == "%s" ? buffer({columns}) : buffer({rows, columns});
  };
  NestText nest{{rows, columns},
                {},
                {},
                {{from, type(from), from == "%s" ? line : row}},
                {{to, type(to), to == "%s" ? line : row}},
                {},
                "",
                "\n ^bb0(%a: f32):\n plan.yield %a : f32\n"};
  return nest.text();
}

/// A row to scratch and back.
std::string through(int64_t rows, int64_t columns) {
  std::string x = buffer({rows, columns});
  return kernel("through", {{"%x", x, ""}, {"%y", x, ""}}, 1, "rows", rows,
                "  %s = plan.scratch : " + buffer({columns}) + "\n" +
                    copied("in", "%x", "%s", rows, columns) +
                    copied("out", "%s", "%y", rows, columns));
}

std::string rowSums(int64_t rows, int64_t columns) {
  NestText nest{{rows},
                {columns},
                {{"%x", buffer({rows, columns}), "(i, j) -> (i, j)"}},
                {},
                {{"%y", buffer({rows}), "(i) -> (i)"}},
                {"sum"},
                "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
                plainSum};
  return kernelOf("sums", nest, "rows", rows);
}

} // namespace

TEST(GpuMapping, TakesPointsOfANestAlone) {
  GpuMapping image =
      mappingOf(kernelOf("image", convolution({2, 1, 3, 6, 3, 1}), "rows", 2));
  EXPECT_TRUE(image.isByPoints);
  EXPECT_EQ(image.items, 2 * 3 * 6 * 6);
  EXPECT_EQ(image.group, 1u);
  EXPECT_EQ(image.threads, 224u);
  EXPECT_EQ(image.mostBlocks, 1);
}

/// A tile of points is an item, of as many columns as groups have.
TEST(GpuMapping, TakesTilesOfColumns) {
  NestText nest{{1000},
                {4096},
                {{"%x", buffer({4096, 1000}), "(i, j) -> (j, i)"}},
                {},
                {{"%y", buffer({1000}), "(i) -> (i)"}},
                {"sum"},
                plainSum,
                plainSum};
  GpuMapping sums = mappingOf(kernelOf("sums", nest, "rows", 1000));
  EXPECT_TRUE(sums.isByPoints);
  EXPECT_EQ(sums.group, 256u);
  EXPECT_EQ(sums.nests.begin()->second.columns, 4u);
  EXPECT_EQ(sums.items, 63); // of 4 columns, 4 elements each
  EXPECT_EQ(sums.mostBlocks, 63);
}

TEST(GpuMapping, SharesWhatIsLong) {
  EXPECT_EQ(mappingOf(rowSums(100000, 8)).group, 1u);
  EXPECT_EQ(mappingOf(rowSums(100000, 768)).group, 32u);
  EXPECT_EQ(mappingOf(rowSums(100000, 768)).mostBlocks, 12500);
  EXPECT_EQ(mappingOf(rowSums(8, 4096)).group, 256u);
}

TEST(GpuMapping, GivesItemsAsManyThreadsAsTheyNeed) {
  EXPECT_EQ(mappingOf(through(20000, 4)).group, 1u);
  EXPECT_EQ(mappingOf(through(20000, 300)).group, 32u);
  EXPECT_EQ(mappingOf(through(20, 300)).group, 256u);
}

TEST(GpuMapping, FindsAPlaceForScratch) {
  GpuMapping shared = mappingOf(through(20000, 768)); // 3 KiB a warp
  EXPECT_TRUE(shared.isScratchShared);
  EXPECT_EQ(shared.groups(), 8u);
  GpuMapping large = mappingOf(through(20000, 30000));
  EXPECT_FALSE(large.isScratchShared);
  EXPECT_EQ(large.mostBlocks, 264);
}
