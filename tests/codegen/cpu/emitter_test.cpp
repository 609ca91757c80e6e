// Whole kernels: several at once, the same bytes every time, clear refusals.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

using namespace gradus;
using namespace gradus::test;

static llvm::Expected<CpuCode> emit(const std::string &text,
                                    const char *target) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  EXPECT_TRUE(module);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  return emitCpu(kernels, llvm::cantFail(cpuTarget(target)));
}

static std::string someKernels() {
  return kernelOf("dense", dense(5, 7, 19, "mk", "nk", true), "serial") +
         kernelOf("image", convolution({2, 2, 3, 6, 3, 1}), "rows", 2) +
         kernelOf("pool", maxPool(2, 3, 8, 2), "rows", 2);
}

TEST(CpuEmitter, RunsSeveralKernelsOfOneBlob) {
  KernelCheck().run(someKernels());
}

/// Enough of them that several threads share the work.
TEST(CpuEmitter, RunsManyKernelsOfOneBlob) {
  std::string text;
  for (int64_t i = 1; i < 20; ++i)
    text += kernelOf("dense" + std::to_string(i),
                     dense(i, 3 * i, 5, "mk", "kn", i % 2), "rows", i);
  KernelCheck().run(text);
  EXPECT_EQ(llvm::cantFail(emit(text, "cpu")).code,
            llvm::cantFail(emit(text, "cpu")).code);
}

TEST(CpuEmitter, GivesTheSameBytesEveryTime) {
  for (const char *target : {"cpu", "cpu:x86-64-v2", "cpu:amx"}) {
    CpuCode first = llvm::cantFail(emit(someKernels(), target));
    CpuCode second = llvm::cantFail(emit(someKernels(), target));
    EXPECT_EQ(first.code, second.code);
    ASSERT_EQ(first.kernels.size(), 3u);
    EXPECT_EQ(first.kernels[1].name, "image");
  }
}
