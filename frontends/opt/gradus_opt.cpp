// gradus-opt: runs any pass by name on a program written as text.
//
// What tests and pass authors use. Passes of a plug-in join with
// --load-pass-plugin=FILE.so; see docs/add_a_pass.md.

#include "codegen/passes.h"
#include "codegen/pipeline.h"
#include "codegen/plan.h"
#include "ir/gradus.h"
#include "passes/passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  gradus::registerDialects(registry);
  registry.insert<gradus::plan::PlanDialect>();
  mlir::registerTransformsPasses();
  gradus::registerPasses();
  gradus::registerCodegenPasses();
  gradus::registerCodegenPipeline();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Gradus: passes on training graphs\n", registry));
}
