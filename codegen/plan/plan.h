// The plan dialect in C++. Nests, kernels, launches; see plan.td.
#pragma once

#include "ir/gradus.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace gradus {
class CommandWriter; // codegen/artifact/command_writer.h
}

#include "codegen/plan/plan_dialect.h.inc"
#include "codegen/plan/plan_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "codegen/plan/plan_attributes.h.inc"
#include "codegen/plan/plan_interfaces.h.inc"
#define GET_OP_CLASSES
#include "codegen/plan/plan_ops.h.inc"
