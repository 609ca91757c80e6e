// Kernels for tests of what becomes of them with a CUDA toolkit.

#pragma once

#include "check.h"
#include "tests/codegen/kernel_text.h"
#include "tests/codegen/nests/needs_cuda_toolkit.h"

namespace gradus::test {

/// y = sqrt(x) tanh(x), of any length.
inline std::string roots() {
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

inline std::string rowSums(std::string name = "sums") {
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
  return kernelOf(name, nest, "rows", 64);
}

struct CudaKernels : ::testing::Test {
  void SetUp() override {
    NEEDS_CUDA_TOOLKIT();
    auto found = cudaToolkit();
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    toolkit = *found;
  }
  GpuCode codeOf(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
    auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
    return llvm::cantFail(emitGpu(kernels, context.context));
  }

  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CudaToolkit toolkit;
};

} // namespace gradus::test
