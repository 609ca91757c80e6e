// What is chosen for nests whose best form is known.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include "codegen/cpu/tiling.h"

using namespace gradus;
using namespace gradus::test;

static Tiling tilingOf(const NestText &text,
                       const char *name = "cpu:x86-64-v4") {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kernelOf("k", text, "serial"), &context.context);
  auto kernel = *module->getOps<plan::KernelOp>().begin();
  Nest nest = readNest(*kernel.getBody().getOps<plan::NestOp>().begin(),
                       kernel.getSplit());
  return chooseTiling(nest, llvm::cantFail(cpuTarget(name)));
}

static int64_t accumulators(const Tiling &tiling, int64_t parallel) {
  int64_t count = 1;
  for (int64_t dim = 0; dim < parallel; ++dim)
    count *= dim == tiling.vectorDim ? tiling.sizes[dim] / tiling.lanes
                                     : tiling.sizes[dim];
  return count;
}

TEST(CpuTiling, KeepsAMatrixProductInRegisters) {
  Tiling tiling = tilingOf(dense(64, 64, 64, "mk", "kn", false));
  EXPECT_EQ(tiling.vectorDim, 1);
  EXPECT_EQ(tiling.lanes, 16u);
  EXPECT_GE(accumulators(tiling, 2), 16);
  EXPECT_LE(accumulators(tiling, 2), 31);
}

TEST(CpuTiling, TakesRegistersAsTheyAre) {
  Tiling narrow =
      tilingOf(dense(64, 64, 64, "mk", "kn", false), "cpu:x86-64-v2");
  EXPECT_EQ(narrow.lanes, 4u);
  EXPECT_LE(accumulators(narrow, 2), 15);
}

/// Rows of both operands are contiguous along k: lanes run along it.
TEST(CpuTiling, ReducesAlongLanesWhereBothOperandsDo) {
  Tiling tiling = tilingOf(dense(32, 120, 400, "mk", "nk", true));
  EXPECT_EQ(tiling.vectorDim, 2);
  EXPECT_EQ(tiling.finishDim, 1);
}

TEST(CpuTiling, VectorisesConvolutionsAlongTheRow) {
  Tiling tiling = tilingOf(convolution({32, 6, 16, 14, 5}));
  EXPECT_EQ(tiling.vectorDim, 3);
  EXPECT_EQ(tiling.sizes[6], 5); // The window's columns are unrolled.
}

/// Windows of one channel, two elements apart: reading takes the time, and no
/// tile reads less. Eight sums hide what one takes until it can be added to; 16
/// would be twice the code.
TEST(CpuTiling, WritesNoMoreCodeThanHelps) {
  NestText windows{{2, 24, 112, 112}, {5, 5}, {}, {}, {}, {"sum"}, product, ""};
  windows.ins = {{"%x", buffer({2, 24, 227, 227}),
                  "(n, c, y, x, i, j) -> (n, c, y * 2 + i, x * 2 + j)"},
                 {"%w", buffer({24, 5, 5}), "(n, c, y, x, i, j) -> (c, i, j)"}};
  windows.outs = {
      {"%y", buffer({2, 24, 112, 112}), "(n, c, y, x) -> (n, c, y, x)"}};
  windows.then = "\n ^bb0(%sum: f32):\n plan.yield %sum : f32\n";
  Tiling tiling = tilingOf(windows);
  EXPECT_EQ(tiling.vectorDim, 3);
  EXPECT_EQ(accumulators(tiling, 4), 8);
}

/// Sums in f64 of f32 numbers, 16 of which are a cache line: a tile reads all
/// of them, as the line is gone when the sum is done.
TEST(CpuTiling, ReadsWholeCacheLines) {
  NestText sums{{4, 16}, {8, 784}, {}, {}, {}, {"sum"}, "", ""};
  sums.ins = {{"%x", buffer({8, 4, 784, 16}), "(c, b, n, p) -> (n, c, p, b)"}};
  sums.outs = {{"%y", "memref<4x16xf64>", "(c, b) -> (c, b)"}};
  sums.map = "\n ^bb0(%a: f32):\n %w = arith.extf %a : f32 to f64\n"
             " plan.yield %w : f64\n";
  sums.then = "\n ^bb0(%sum: f64):\n plan.yield %sum : f64\n";
  for (auto [target, lanes] :
       {std::pair("cpu:x86-64-v4", 16u), {"cpu:x86-64-v3", 8u}}) {
    Tiling tiling = tilingOf(sums, target);
    EXPECT_EQ(tiling.vectorDim, 1) << target;
    EXPECT_EQ(tiling.lanes, lanes) << target;
    EXPECT_EQ(tiling.sizes[1], 16) << target;
  }
}

TEST(CpuTiling, LeavesSingleElementsAlone) {
  NestText one{{1},
               {},
               {},
               {{"%x", buffer({1}), "(i) -> (i)"}},
               {{"%y", buffer({1}), "(i) -> (i)"}},
               {},
               "",
               "\n ^bb0(%a: f32):\n plan.yield %a : f32\n"};
  EXPECT_EQ(tilingOf(one).lanes, 1u);
}

/// More sums at once than there are registers.
TEST(CpuTiling, TakesOnePointWhereNothingFits) {
  constexpr int sums = 40;
  std::string values, types;
  NestText many{{4}, {64}, {}, {}, {}, {}, "", ""};
  many.ins = {{"%x", buffer({4, 64}), "(i, k) -> (i, k)"}};
  for (int i = 0; i < sums; ++i) {
    std::string number = std::to_string(i), comma = i ? ", " : "";
    many.outs.push_back({"%y" + number, buffer({4}), "(i) -> (i)"});
    many.combine.push_back("sum");
    many.map += comma + "%a";
    many.then += comma + "%s" + number + ": f32";
    values += comma + "%s" + number;
    types += comma + "f32";
  }
  many.map =
      "\n ^bb0(%a: f32):\n plan.yield " + many.map + " : " + types + "\n";
  many.then = "\n ^bb0(" + many.then + "):\n plan.yield " + values + " : " +
              types + "\n";
  Tiling tiling = tilingOf(many);
  ASSERT_EQ(tiling.sizes.size(), 2u);
  EXPECT_EQ(accumulators(tiling, 1), 1);
}

/// Six rows of two vectors fill the registers, but leave four of 64 rows over.
TEST(CpuTiling, LeavesNoRowsOverForAFewPercent) {
  Tiling tiling =
      tilingOf(dense(64, 16, 64, "mk", "kn", false), "cpu:x86-64-v3");
  EXPECT_EQ(tiling.vectorDim, 1);
  EXPECT_EQ(64 % tiling.sizes[0], 0);
}
