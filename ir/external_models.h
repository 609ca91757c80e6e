// What arith and math ops get from us: each function gives one interface to all
// the ops that have it. Called by registerDialects alone.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace gradus {

void registerElementwiseModels(mlir::DialectRegistry &registry);
void registerGradientModels(mlir::DialectRegistry &registry);
void registerEvaluationModels(mlir::DialectRegistry &registry);

} // namespace gradus
