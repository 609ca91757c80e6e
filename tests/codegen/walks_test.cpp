// Twice as many layers take about twice as many steps from ops to what they
// need, in passes that ask who needs whom of all that has been computed before.

#include "passes/passes.h"
#include "tests/codegen/example_models.h"
#include "tests/codegen/plan/plan_check.h"

#include "mlir/IR/Remarks.h"

#include <map>

using namespace gradus;
using namespace gradus::testing;

namespace {

using Steps = std::map<std::string, int64_t>; // of each pass

/// Adds up what remarks called "Walked" say.
class StepCounter final : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit StepCounter(Steps &steps) : steps_(steps) {}
  void streamOptimizationRemark(
      const mlir::remark::detail::Remark &remark) override {
    if (remark.getRemarkName() == "Walked")
      steps_[remark.getCategoryName().str()] +=
          std::stoll(remark.getArgs().front().val);
  }

private:
  Steps &steps_;
};

/// Dense layers beside residuals; gradients are clipped by their norm, so that
/// every update needs all of them.
std::string deepNet(int layers) {
  const std::string vector = "tensor<16xf32>", matrix = "tensor<16x16xf32>",
                    rows = "tensor<64x16xf32>";
  std::string states, body, x = "%x";
  for (int layer = 0; layer < layers; ++layer) {
    std::string n = std::to_string(layer), w = "w" + n, b = "b" + n;
    states += state(w, matrix) + state(b, vector);
    body += read(w, matrix) + read(b, vector) + "%p" + n + " = gradus.matmul " +
            x + ", %" + w + " transposed : " + rows + ", " + matrix + " -> " +
            rows + "\n%s" + n + " = gradus.broadcast %" + b +
            " dims [1] : " + vector + " -> " + rows + "\n%a" + n +
            " = arith.addf %p" + n + ", %s" + n + " : " + rows + "\n%t" + n +
            " = math.tanh %a" + n + " : " + rows + "\n%r" + n +
            " = arith.addf %t" + n + ", " + x + " : " + rows + "\n";
    x = "%r" + n;
  }
  return "gradus.program @deep attributes {recipe = {optimizer = {" + adamw +
         "}, loss = {" + crossEntropy +
         "}, clip = {type = \"global_norm\", value = 1.0}}} {\n" + states +
         "gradus.graph @predict(%x: " + rows + ") -> (logits: " + rows +
         ") {\n" + body + "gradus.return " + x + " : " + rows + "\n}\n}\n";
}

Steps stepsOf(int layers, const std::string &formKernels) {
  Steps steps;
  auto context = makeContext();
  mlir::remark::RemarkCategories all;
  all.passed = all.missed = all.analysis = all.failed = ".*";
  EXPECT_TRUE(succeeded(mlir::remark::enableOptimizationRemarks(
      *context, std::make_unique<StepCounter>(steps),
      std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), all)));
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(deepNet(layers), context.get());
  mlir::PassManager manager(context.get());
  buildTrainingPipeline(manager);
  registerCodegenPasses();
  auto &program = manager.nest<ProgramOp>();
  EXPECT_TRUE(module && succeeded(mlir::parsePassPipeline(
                            "lower-to-nests,fuse,form-kernels{" + formKernels +
                                "},gradus.graph(schedule)",
                            program)));
  EXPECT_TRUE(succeeded(manager.run(*module)));
  return steps;
}

void expectLinear(const std::string &formKernels) {
  Steps few = stepsOf(12, formKernels), more = stepsOf(24, formKernels),
        most = stepsOf(48, formKernels);
  for (const char *pass : {"fuse", "form-kernels", "schedule"}) {
    EXPECT_GT(few[pass], 0) << pass;
    EXPECT_LT(most[pass] - more[pass], 3 * (more[pass] - few[pass])) << pass;
  }
}

} // namespace

// Kernels end after some nests, as those of GPUs do: what hangs on one follows
// whenever it grows.
TEST(Walks, AreLinearInLayers) {
  expectLinear("tiny-work=0 small-work=0 most-nests=16");
}

// Each small nest looks for a place among all serial kernels before it.
TEST(Walks, AreLinearInLayersOfSmallNests) {
  expectLinear("tiny-work=0 small-work=2000 most-nests=16");
}
