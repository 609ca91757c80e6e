// Kernels as images for several GPUs at once.

#include "check.h"
#include "tests/codegen/kernel_text.h"
#include "tests/codegen/nests/needs_cuda_toolkit.h"

#include "codegen/gpu/images.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// Two kernels, of which the later one is named first by its assembler's rule.
struct Kernels {
  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<plan::KernelOp> kernels;

  Kernels() {
    std::string text;
    for (std::string name : {"zebra", "ant"}) {
      std::string op = name == "ant" ? "math.exp" : "math.sqrt";
      NestText nest{{100},
                    {},
                    {},
                    {{"%x", buffer({100}), "(i) -> (i)"}},
                    {{"%y", buffer({100}), "(i) -> (i)"}},
                    {},
                    "",
                    "\n ^bb0(%a: f32):\n %r = " + op +
                        " %a : f32\n plan.yield %r : f32\n"};
      text += kernelOf(name, nest, "serial");
    }
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
    kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  }
  GpuImages emit(const GpuTarget &target) {
    return llvm::cantFail(emitGpuImages(kernels, target, GpuModel(),
                                        KernelCache(), context.context));
  }
};

} // namespace

TEST(GpuImages, AreAskedForByName) {
  GpuTarget all = llvm::cantFail(gpuTarget("cuda"));
  EXPECT_EQ(all.architectures,
            (std::vector<std::string>{"sm_80", "sm_90", "sm_100"}));
  EXPECT_TRUE(all.ptx);
  EXPECT_FALSE(all.emulated);
  EXPECT_EQ(llvm::cantFail(gpuTarget("cuda:sm_90")).architectures,
            (std::vector<std::string>{"sm_90"}));
  EXPECT_TRUE(llvm::cantFail(gpuTarget("emulated")).emulated);
  EXPECT_EQ(llvm::toString(gpuTarget("cuda:sm_70").takeError()),
            "target is 'cuda:sm_70', expected cuda (all architectures and PTX) "
            "or one of cuda:sm_80, cuda:sm_90, cuda:sm_100; cards before sm_80 "
            "are not served");
}

TEST(GpuImages, ServeCardsThatNoCodeIsMadeFor) {
  for (auto [architecture, hint] :
       {std::pair("sm_86", "; sm_86 runs the code for sm_80"),
        {"sm_89", "; sm_89 runs the code for sm_80"},
        {"sm_103", "; sm_103 runs the code for sm_100"},
        {"sm_120", "; sm_120 runs the PTX that cuda adds"},
        {"sm_90a", ", cuda:sm_100"},
        {"ada", ", cuda:sm_100"}}) {
    auto target = gpuTarget(std::string("cuda:") + architecture);
    ASSERT_FALSE(bool(target)) << architecture;
    std::string why = llvm::toString(target.takeError());
    EXPECT_TRUE(llvm::StringRef(why).ends_with(hint)) << why;
  }
}

TEST(GpuImages, AreJoinedInTheOrderOfArchitectures) {
  GpuTarget target = llvm::cantFail(gpuTarget("cuda:sm_100"));
  join(target, llvm::cantFail(gpuTarget("cuda:sm_80")));
  join(target, llvm::cantFail(gpuTarget("emulated")));
  EXPECT_EQ(target.architectures,
            (std::vector<std::string>{"sm_80", "sm_100"}));
  EXPECT_TRUE(target.emulated);
}

TEST(GpuImages, HaveAnEmulatedOne) {
  Kernels of;
  GpuImages images = of.emit(llvm::cantFail(gpuTarget("emulated")));
  ASSERT_EQ(images.kernels.size(), 2u);
  EXPECT_EQ(images.kernels[0].name, "zebra");
  ASSERT_EQ(images.images.size(), 1u);
  const GpuImage &image = images.images[0];
  EXPECT_EQ(image.kind, GpuImage::emulated);
  ASSERT_EQ(image.entries.size(), 2u);
  EXPECT_NE(image.entries[0], image.entries[1]);
  EXPECT_FALSE(image.features.empty());
}

TEST(GpuImages, HaveCubinsAndPtxOfThePlansKernels) {
  NEEDS_CUDA_TOOLKIT();
  Kernels of;
  GpuTarget target = llvm::cantFail(gpuTarget("cuda:sm_90"));
  target.ptx = true;
  GpuImages images = of.emit(target);
  ASSERT_EQ(images.images.size(), 2u);
  const GpuImage &cubin = images.images[0], &ptx = images.images[1];
  EXPECT_EQ(cubin.kind, GpuImage::cubin);
  EXPECT_EQ(std::string(cubin.code.data(), 4), "\x7F"
                                               "ELF");
  EXPECT_EQ(ptx.kind, GpuImage::ptx);
  EXPECT_EQ(ptx.code.back(), '\0');
  for (const GpuImage *image : {&cubin, &ptx}) {
    EXPECT_EQ(image->architecture, "sm_90");
    ASSERT_EQ(image->kernels.size(), 2u);
    EXPECT_EQ(image->kernels[0].name, "zebra");
    EXPECT_GT(image->kernels[0].registers, 0);
  }
}
