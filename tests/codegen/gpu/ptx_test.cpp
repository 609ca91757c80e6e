// PTX of kernels: what is moved at once, how it is rounded, and that it does
// not hang on how many work on it.

#include "cuda_kernels.h"
#include "tests/sanitized.h"

#include "codegen/gpu/ptx.h"

using namespace gradus;
using namespace gradus::test;

namespace {

std::string wave(int number) {
  NestText nest{{100},
                {},
                {},
                {{"%x", buffer({100}), "(i) -> (i)"}},
                {{"%y", buffer({100}), "(i) -> (i)"}},
                {},
                "",
                R"(
  ^bb0(%a: f32):
    %s = math.sin %a : f32
    plan.yield %s : f32
)"};
  return kernelOf("wave" + std::to_string(number), nest, "serial");
}

struct GpuPtx : CudaKernels {
  GpuBitcode bitcodeOf(const std::string &text) {
    return llvm::cantFail(lowerGpu(codeOf(text)));
  }
  std::string ptxOf(const std::string &text, std::string architecture) {
    return llvm::cantFail(emitPtx(bitcodeOf(text), architecture, toolkit))
        .front();
  }
  static size_t count(const std::string &ptx, const std::string &text) {
    size_t found = 0;
    for (size_t at = 0; (at = ptx.find(text, at)) != std::string::npos; ++at)
      ++found;
    return found;
  }
};

} // namespace

TEST_F(GpuPtx, MovesVectorsAndRoundsAsWritten) {
  std::string ptx = ptxOf(roots(), "sm_80");
  EXPECT_GT(count(ptx, "ld.global.v4.b32"), 0u) << ptx;
  EXPECT_GT(count(ptx, "st.global.v4.b32"), 0u);
  EXPECT_GT(count(ptx, "sqrt.rn.f32"), 0u);
  EXPECT_EQ(count(ptx, "sqrt.approx"), 0u);
  EXPECT_EQ(count(ptx, "fma"), count(ptxOf(roots(), "sm_90"), "fma"));
  EXPECT_GT(count(ptx, ".maxntid 256"), 0u);
  EXPECT_GT(count(ptx, ".version 7.0"), 0u);
}

TEST_F(GpuPtx, SumsByShuffles) {
  std::string ptx = ptxOf(rowSums(), "sm_90");
  EXPECT_GT(count(ptx, "shfl.sync.bfly.b32"), 0u);
  EXPECT_GT(count(ptx, "bar.sync"), 0u);
}

/// Divisions of 64 bits are dozens of instructions.
TEST_F(GpuPtx, FindsPositionsIn32Bits) {
  std::string ptx = ptxOf(
      kernelOf("image", convolution({2, 2, 3, 6, 3, 1}), "rows", 2), "sm_90");
  for (std::string wide : {"rem.u64", "div.u64", "mul.hi.u64", "mul.lo.s64"})
    EXPECT_EQ(count(ptx, wide), 0u) << wide << "\n" << ptx;
  EXPECT_GT(count(ptx, "mul.wide"), 0u);
}

/// Several parts become one text, in which each has its own copy of libdevice's
/// tables.
TEST_F(GpuPtx, IsOneTextOfManyParts) {
  SKIP_WHERE_SANITIZED();
  std::string text;
  for (int i = 0; i < 120; ++i)
    text += wave(i);
  GpuBitcode bitcode = bitcodeOf(text);
  ASSERT_GT(bitcode.parts.size(), 1u);
  auto all = llvm::cantFail(emitPtx(bitcode, {"sm_80", "sm_100"}, toolkit));
  ASSERT_EQ(all.size(), 2u);
  for (const std::string &ptx : all) {
    EXPECT_EQ(count(ptx, ".version"), 1u);
    EXPECT_EQ(count(ptx, ".visible .entry"), 120u);
  }
  auto cubins = assemble(all, {"sm_80", "sm_100"}, toolkit);
  ASSERT_TRUE(bool(cubins)) << llvm::toString(cubins.takeError());
  EXPECT_EQ(cubins->front().kernels().size(), 120u);
  EXPECT_EQ(all, llvm::cantFail(
                     emitPtx(bitcodeOf(text), {"sm_80", "sm_100"}, toolkit)));
}

/// Linking libdevice takes longer than most kernels do.
TEST_F(GpuPtx, HasFunctionsInPartsThatCallThem) {
  std::string text = wave(0);
  for (int i = 0; i < 60; ++i)
    text += rowSums("sums" + std::to_string(i));
  GpuBitcode bitcode = bitcodeOf(text);
  ASSERT_GT(bitcode.parts.size(), 1u);
  size_t calling = 0, sharing = 0;
  for (const std::string &part : bitcode.parts) {
    calling += count(part, "__nv_sinf");
    sharing += count(part, "__wg_");
  }
  EXPECT_EQ(calling, 1u);
  EXPECT_EQ(sharing, 60u);
}
