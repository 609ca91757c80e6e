// Every kernel of whole training steps: on the emulated GPU it does what the
// CPU's code does, and it assembles for each architecture without spilling.

#include "tests/codegen/gpu/card.h"
#include "tests/codegen/nests/needs_cuda_toolkit.h"
#include "tests/sanitized.h"

#include "codegen/compile.h"
#include "codegen/gpu/object.h"
#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "tool/check/comparison.h"

using namespace gradus;
using namespace gradus::check;

namespace {

class ModelOnGpu : public ::testing::TestWithParam<const char *> {
protected:
  /// The plan of the case's first recipe.
  void SetUp() override {
    auto recorded = RecordedCase::open(
        std::string(GRADUS_SOURCE_DIR "/tests/data/models/") + GetParam());
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    std::string file = recorded->files().front();
    const Json &run = recorded->description().at("runs").at(0);
    auto recipe = recipe::read(recorded->recipe(file, run), "recipe");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    ImportOptions options;
    options.dims = recipe->dims;
    options.trainable = recipe->trainable;
    options.recipe = recipe::toAttribute(*recipe, *context_);
    auto module = importOnnx(recorded->pathOf(file), options, *context_);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = std::move(*module);
    Target target = llvm::cantFail(findTarget("cuda", {"never"}));
    ASSERT_TRUE(mlir::succeeded(runStages(*module_, "", target.model)));
    module_->walk([&](plan::KernelOp kernel) { kernels_.push_back(kernel); });
    ASSERT_FALSE(kernels_.empty());
  }

  std::unique_ptr<mlir::MLIRContext> context_ = [] {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<plan::KernelOp> kernels_;
};

} // namespace

TEST_P(ModelOnGpu, ComputesWhatTheCpuDoes) {
  test::GpuCheck check;
  check.items = 3000;
  check.tolerance = 1e-3;
  check.scale = 0.25; // Sums of many thousand products lose digits.
  check.run(kernels_);
}

/// All kernels of a step as one graph of the executor.
TEST_P(ModelOnGpu, RunsOnTheEmulatedCard) {
  test::checkOnCard(kernels_, /*seed=*/1, /*tolerance=*/1e-3, /*scale=*/0.25);
}

TEST_P(ModelOnGpu, AssemblesWithoutSpills) {
  SKIP_WHERE_SANITIZED();
  NEEDS_CUDA_TOOLKIT();
  auto toolkit = cudaToolkit();
  ASSERT_TRUE(bool(toolkit)) << llvm::toString(toolkit.takeError());
  GpuCode code = llvm::cantFail(emitGpu(kernels_, *context_));
  auto cubins =
      emitCubins(code, {"sm_80", "sm_90", "sm_100"}, *toolkit, KernelCache());
  ASSERT_TRUE(bool(cubins)) << llvm::toString(cubins.takeError());
  for (const Cubin &cubin : *cubins) {
    EXPECT_EQ(cubin.kernels().size(), kernels_.size());
    for (const KernelUse &use : cubin.kernels())
      EXPECT_EQ(use.spilled, 0) << cubin.architecture << ": " << use.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, ModelOnGpu, ::testing::Values("lenet5", "gpt2-tiny"),
    [](const auto &info) {
      std::string name = info.param;
      name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
      return name;
    });
