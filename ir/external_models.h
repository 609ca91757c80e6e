// Interfaces that we attach to arith and math ops: each function attaches one
// interface to all the ops that have it. Only registerDialects calls them.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace gradus {

void registerElementwiseModels(mlir::DialectRegistry &registry);
void registerGradientModels(mlir::DialectRegistry &registry);
void registerEvaluationModels(mlir::DialectRegistry &registry);

} // namespace gradus
