// The common base of all passes.

#ifndef GRADUS_PASS_BASE_TD
#define GRADUS_PASS_BASE_TD

include "mlir/Pass/PassBase.td"

class GradusPass<string name> : Pass<name, "::gradus::ProgramOp"> {
  let dependentDialects = ["::gradus::GradusDialect"];
}

#endif
