// A plug-in whose pass has the name of one of MLIR.

#include "passes/pass_plugin.h"

#include "mlir/IR/BuiltinOps.h"

namespace {

struct Twin : mlir::PassWrapper<Twin, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Twin)
  llvm::StringRef getArgument() const override { return "canonicalize"; }
  void runOnOperation() override {}
};

} // namespace

GRADUS_PASS_PLUGIN(Twin)
