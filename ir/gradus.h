// The gradus dialect in C++: include this to build or read graphs.
#pragma once

#include "ir/host_tensor.h"
#include "ir/traits.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/gradus_dialect.h.inc"
#include "ir/gradus_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/gradus_attributes.h.inc"

#include "ir/gradus_interfaces.h.inc"

namespace gradus {

/// The axis along which ranks have different samples.
inline constexpr llvm::StringLiteral kDataAxis = "data";

/// The resource that collectives write, which stands for the messages between
/// ranks.
struct Communicator : mlir::SideEffects::Resource::Base<Communicator> {
  llvm::StringRef getName() override { return "Communicator"; }
};

} // namespace gradus

#define GET_OP_CLASSES
#include "ir/gradus_ops.h.inc"

namespace gradus {

/// Registers the dialects that programs use (gradus, arith, math), with the
/// interfaces that we attach to arith and math ops.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace gradus
