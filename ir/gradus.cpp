// The gradus dialect: registration of its types, attributes and ops.

#include "ir/gradus.h"
#include "ir/gradient_ops.h"
#include "ir/scan_ops.h"

#include "ir/external_models.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gradus;

#include "ir/gradus_dialect.cpp.inc"
#include "ir/gradus_enums.cpp.inc"
#include "ir/gradus_interfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/gradus_attributes.cpp.inc"

#define GET_OP_CLASSES
#include "ir/gradus_ops.cpp.inc"

#define GET_OP_CLASSES
#include "ir/gradient_ops.cpp.inc"

#define GET_OP_CLASSES
#include "ir/scan_ops.cpp.inc"

void GradusDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/gradus_ops.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/gradient_ops.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/scan_ops.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/gradus_attributes.cpp.inc"
      >();
}

/// Folders that return numbers make constants.
Operation *GradusDialect::materializeConstant(OpBuilder &builder,
                                              Attribute value, Type type,
                                              Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

void gradus::registerDialects(DialectRegistry &registry) {
  registry.insert<GradusDialect, arith::ArithDialect, math::MathDialect>();
  registerElementwiseModels(registry);
  registerGradientModels(registry);
  registerEvaluationModels(registry);
}
