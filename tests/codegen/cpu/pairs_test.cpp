// Sums of pairs of bf16 on every kind of register: the bits are those of one
// rounding a product, on targets with the instruction and without it.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace gradus;
using namespace gradus::test;

namespace {

constexpr int64_t kRows = 7, kPairs = 21;

/// y[m, n] = the sum over k of the products of pairs x[m, k] and w[k, n].
std::string matmul(int64_t columns) {
  NestText nest{
      {kRows, columns},
      {kPairs},
      {{"%x", buffer({kRows, kPairs}, "i32"), "(m, n, k) -> (m, k)"},
       {"%w", buffer({kPairs, columns}, "i32"), "(m, n, k) -> (k, n)"}},
      {},
      {{"%y", buffer({kRows, columns}), "(m, n) -> (m, n)"}},
      {"sum"},
      "\n ^bb0(%a: i32, %b: i32):\n %p = plan.dot_pairs %a, %b\n"
      " plan.yield %p : f32\n",
      plainSum};
  return kernelOf("pairs", nest, "rows", kRows);
}

float numberOf(uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
float low(uint32_t pair) { return numberOf(pair << 16); }
float high(uint32_t pair) { return numberOf(pair & 0xffff0000); }

/// Pairs of bf16 between 1/64 and 64, of both signs.
std::vector<uint32_t> randomPairs(int64_t count, std::mt19937 &random) {
  std::vector<uint32_t> pairs(count);
  for (uint32_t &pair : pairs)
    for (int shift : {0, 16})
      pair |= ((random() & 0x807f) | (121 + random() % 12) << 7) << shift;
  return pairs;
}

/// Runs the matmul as a target's code; checks it against f64, and the bits
/// where a column's sum is in one lane and products are fused.
void check(int64_t columns, const std::string &name) {
  auto target = cpuTarget(name);
  ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
  if (!runsHere(*target))
    return;
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(matmul(columns),
                                                        &context.context);
  ASSERT_TRUE(module);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  auto emitted = emitCpu(kernels, *target);
  ASSERT_TRUE(bool(emitted)) << llvm::toString(emitted.takeError());
  Code code(std::move(*emitted));
  std::mt19937 random(5);
  auto x = randomPairs(kRows * kPairs, random),
       w = randomPairs(kPairs * columns, random);
  std::vector<float> y(kRows * columns);
  void *table[] = {x.data(), w.data(), y.data()};
  code.run(0, table, 0, kRows);
  for (int64_t m = 0; m < kRows; ++m)
    for (int64_t n = 0; n < columns; ++n) {
      double exact = 0, size = 0;
      float sum = 0;
      for (int64_t k = 0; k < kPairs; ++k) {
        uint32_t a = x[m * kPairs + k], b = w[k * columns + n];
        exact += double(low(a)) * low(b) + double(high(a)) * high(b);
        size += std::fabs(double(low(a)) * low(b)) +
                std::fabs(double(high(a)) * high(b));
        sum = std::fma(low(a), low(b), std::fma(high(a), high(b), sum));
      }
      float found = y[m * columns + n];
      EXPECT_NEAR(found, exact, 1e-6 * size) << name << " " << m << " " << n;
      if (target->fma && columns > 8)
        EXPECT_EQ(found, sum) << name << " " << m << " " << n;
    }
}

} // namespace

TEST(CpuPairs, AddBothProductsWithARoundingEach) {
  for (int64_t columns : {1, 2, 3, 5, 16, 37, 64})
    for (std::string target :
         {"cpu", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"})
      check(columns, target);
}

/// A pair's products alone, not in a sum over points.
TEST(CpuPairs, AreNumbersWithoutASum) {
  NestText nest{{37},
                {},
                {},
                {{"%x", buffer({37}, "i32"), "(i) -> (i)"}},
                {{"%y", buffer({37}), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(%a: i32):\n %c = arith.constant 0x3f804000 : i32\n"
                " %b = arith.constant 16 : i32\n"
                " %d = arith.shli %c, %b : i32\n"
                " %p = plan.dot_pairs %d, %c\n plan.yield %p : f32\n"};
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kernelOf("alone", nest, "rows", 37), &context.context);
  ASSERT_TRUE(module);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  auto code = emitCpu(kernels, *cpuTarget("cpu"));
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  std::vector<uint32_t> x(37);
  std::vector<float> y(37);
  void *table[] = {x.data(), y.data()};
  Code(std::move(*code)).run(0, table, 0, 37);
  for (float found : y)
    EXPECT_EQ(found, 2 * 1); // high 2 times 1; low 0 times 2
}
