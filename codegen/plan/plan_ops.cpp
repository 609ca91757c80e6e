// The rules for ops in nests: the table of scalar ops, and the types of
// elements.

#include "codegen/plan/plan_ops.h"

#include "ir/scalar_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace gradus;

// Op list: beside scalar ops a nest may hold these, and no others.
bool gradus::isFree(Operation &op) {
  return isa<arith::ConstantOp, plan::IndexOp, plan::YieldOp>(op);
}

bool gradus::isElementType(Type type) {
  return type.isF32() || type.isF64() || type.isBF16() || type.isF16() ||
         type.isInteger(1) || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64);
}

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Indices are not element types, but ops of a region may use them.
static std::string unsupportedIn(Operation &op) {
  std::string holds = "holds op '" + op.getName().getStringRef().str() + "'",
              noCode = ", which no target has code for";
  if (!isFree(op) && !scalarOp(&op) && !isa<plan::DotPairsOp>(op))
    return holds + noCode;
  for (TypeRange types :
       {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
    for (Type type : types)
      if (!isElementType(type) && !type.isIndex())
        return (Twine(holds) + " of type " + describe(type) + noCode).str();
  return "";
}

std::string gradus::unsupportedIn(plan::NestOp nest) {
  SmallVector<Type> types(nest->getOperandTypes());
  llvm::append_range(types, nest->getResultTypes());
  for (Type type : types)
    if (Type element = getElementTypeOrSelf(type); !isElementType(element))
      return "has elements of type " + describe(element) +
             ", which no target has code for";
  for (Region *region : {&nest.getMap(), &nest.getThen()})
    for (Operation &op : region->getOps())
      if (std::string wrong = ::unsupportedIn(op); !wrong.empty())
        return wrong;
  for (auto kind : nest.getCombine().getAsRange<ReductionAttr>())
    if (kind.getValue() == Reduction::mean)
      return "combines by mean, expected sum, max or min";
  if (llvm::is_contained(nest.getReduced(), 0))
    return "combines the elements along a dimension of size 0, of which there "
           "are none";
  return "";
}

llvm::Error gradus::checkKernel(plan::KernelOp kernel) {
  std::string where = "kernel '" + kernel.getSymName().str() + "' ", wrong;
  kernel.walk([&](plan::NestOp nest) {
    if (wrong.empty())
      wrong = unsupportedIn(nest);
  });
  for (Type type : kernel.getArgumentTypes())
    if (Type element = getElementTypeOrSelf(type);
        wrong.empty() && !isElementType(element))
      wrong = "has elements of type " + describe(element) +
              ", which no target has code for";
  if (wrong.empty())
    return llvm::Error::success();
  return llvm::createStringError(where + wrong);
}
