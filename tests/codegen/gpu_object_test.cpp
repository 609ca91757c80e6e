// PTX and cubins of kernels for three architectures, without a GPU; what ptxas
// says of them; words where there is no toolkit.

#include "gpu_check.h"
#include "kernel_text.h"

#include "codegen/gpu_object.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// y = sqrt(x) tanh(x), of any length.
std::string roots() {
  NestText nest{{mlir::ShapedType::kDynamic},
                {},
                {},
                {{"%x", buffer({-1}), "(i) -> (i)"}},
                {{"%y", buffer({-1}), "(i) -> (i)"}},
                {},
                "",
                R"(
  ^bb0(%a: f32):
    %s = math.sqrt %a : f32
    %t = math.tanh %a : f32
    %r = arith.mulf %s, %t : f32
    %z = arith.addf %r, %s : f32
    plan.yield %z : f32
)"};
  return kernelOf("roots", nest, "flat", 0);
}

std::string rowSums() {
  NestText nest{{64},
                {4096},
                {{"%x", buffer({64, 4096}, "bf16"), "(i, j) -> (i, j)"}},
                {},
                {{"%y", buffer({64}), "(i) -> (i)"}},
                {"sum"},
                R"(
  ^bb0(%a: bf16):
    %r = arith.extf %a : bf16 to f32
    plan.yield %r : f32
)",
                plainSum};
  return kernelOf("sums", nest, "rows", 64);
}

struct GpuObject : ::testing::Test {
  void SetUp() override {
    // Tests are built without one where neither PyPI nor NVIDIA gave one.
    if (!hasCudaToolkit())
      GTEST_SKIP() << "built without a CUDA toolkit (GRADUS_CUDA=OFF)";
    auto found = cudaToolkit();
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    toolkit = *found;
  }
  std::string ptxOf(const std::string &text, const char *architecture) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
    auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
    GpuCode code = llvm::cantFail(emitGpu(kernels, context.context));
    return llvm::cantFail(emitPtx(code, architecture, toolkit));
  }
  static bool has(const std::string &ptx, const char *text) {
    return ptx.find(text) != std::string::npos;
  }

  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CudaToolkit toolkit;
};

} // namespace

TEST_F(GpuObject, AssemblesForThreeArchitectures) {
  for (const char *architecture : {"sm_80", "sm_90", "sm_100"}) {
    std::string ptx = ptxOf(
        roots() + rowSums() + kernelOf("pool", maxPool(2, 3, 8, 2), "rows", 2),
        architecture);
    auto cubin = assemble(ptx, architecture, toolkit);
    ASSERT_TRUE(bool(cubin)) << llvm::toString(cubin.takeError());
    ASSERT_EQ(cubin->kernels.size(), 3u);
    EXPECT_GT(cubin->code.size(), 1000u);
    for (const KernelUse &use : cubin->kernels) {
      EXPECT_GT(use.registers, 0) << use.name;
      EXPECT_EQ(use.spilled, 0) << use.name;
      EXPECT_EQ(use.stack, 0) << use.name;
      EXPECT_EQ(use.shared, use.name == "sums" ? 32 : 0) << use.name;
    }
  }
}

TEST_F(GpuObject, MovesVectorsAndRoundsAsWritten) {
  std::string ptx = ptxOf(roots(), "sm_80");
  EXPECT_TRUE(has(ptx, "ld.global.v4.b32")) << ptx;
  EXPECT_TRUE(has(ptx, "st.global.v4.b32"));
  EXPECT_TRUE(has(ptx, "sqrt.rn.f32"));
  EXPECT_FALSE(has(ptx, "sqrt.approx"));
  EXPECT_TRUE(has(ptx, ".maxntid 256"));
  EXPECT_TRUE(has(ptx, ".version 7.0"));
}

TEST_F(GpuObject, SumsByShuffles) {
  std::string ptx = ptxOf(rowSums(), "sm_90");
  EXPECT_TRUE(has(ptx, "shfl.sync.bfly.b32"));
  EXPECT_TRUE(has(ptx, "bar.sync"));
}

TEST_F(GpuObject, PassesOnWhatPtxasFinds) {
  auto cubin = assemble("no PTX", "sm_90", toolkit);
  std::string why = llvm::toString(cubin.takeError());
  EXPECT_TRUE(has(why, "ptxas failed: ")) << why;
  EXPECT_TRUE(has(why, "line 1")) << why;
}

TEST(GpuToolkit, SaysWhatIsMissing) {
  EXPECT_EQ(llvm::toString(cudaToolkit("/nowhere").takeError()),
            "CUDA targets need a toolkit: /nowhere/bin/ptxas is not there; "
            "./dev setup fetches one");
}

TEST(GpuToolkit, ReadsWhatPtxasPrints) {
  auto kernels = parseUse(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 18 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "a");
  EXPECT_EQ(kernels[0].registers, 32);
  EXPECT_EQ(kernels[0].stack, 8);
  EXPECT_EQ(kernels[0].spilled, 16);
  EXPECT_EQ(kernels[0].shared, 1024);
  EXPECT_EQ(kernels[1].registers, 18);
  EXPECT_EQ(kernels[1].spilled, 0);
}
