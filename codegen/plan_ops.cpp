// The table of scalar ops, and who is held to it.

#include "codegen/plan_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace gradus;

static const ScalarOp table[] = {
    {"arith.addf", "float float", "float"},
    {"arith.subf", "float float", "float"},
    {"arith.mulf", "float float", "float"},
    {"arith.divf", "float float", "float"},
    {"arith.remf", "float float", "float"},
    {"arith.negf", "float", "float"},
    {"arith.maximumf", "float float", "float"},
    {"arith.minimumf", "float float", "float"},
    {"arith.maxnumf", "float float", "float"},
    {"arith.minnumf", "float float", "float"},
    {"arith.cmpf", "float float", "i1"},
    {"arith.select", "i1 float float", "float"},
    {"arith.select", "i1 integer integer", "integer"},
    {"arith.addi", "integer integer", "integer"},
    {"arith.subi", "integer integer", "integer"},
    {"arith.muli", "integer integer", "integer"},
    {"arith.divsi", "integer integer", "integer"},
    {"arith.divui", "integer integer", "integer"},
    {"arith.remsi", "integer integer", "integer"},
    {"arith.remui", "integer integer", "integer"},
    {"arith.andi", "integer integer", "integer"},
    {"arith.ori", "integer integer", "integer"},
    {"arith.xori", "integer integer", "integer"},
    {"arith.shli", "integer integer", "integer"},
    {"arith.shrsi", "integer integer", "integer"},
    {"arith.shrui", "integer integer", "integer"},
    {"arith.maxsi", "integer integer", "integer"},
    {"arith.minsi", "integer integer", "integer"},
    {"arith.maxui", "integer integer", "integer"},
    {"arith.minui", "integer integer", "integer"},
    {"arith.cmpi", "integer integer", "i1"},
    {"arith.extf", "float", "wider float"},
    {"arith.truncf", "float", "narrower float"},
    {"arith.extsi", "integer", "wider integer"},
    {"arith.extui", "integer", "wider integer"},
    {"arith.trunci", "integer", "narrower integer"},
    {"arith.sitofp", "integer", "float"},
    {"arith.uitofp", "integer", "float"},
    {"arith.fptosi", "float", "integer"},
    {"arith.fptoui", "float", "integer"},
    {"arith.bitcast", "float", "equal integer"},
    {"arith.bitcast", "integer", "equal float"},
    {"arith.index_cast", "integer", "index"},
    {"arith.index_castui", "integer", "index"},
    {"math.exp", "float", "float"},
    {"math.exp2", "float", "float"},
    {"math.expm1", "float", "float"},
    {"math.log", "float", "float"},
    {"math.log2", "float", "float"},
    {"math.log10", "float", "float"},
    {"math.log1p", "float", "float"},
    {"math.erf", "float", "float"},
    {"math.powf", "float float", "float"},
    {"math.fma", "float float float", "float"},
    {"math.sqrt", "float", "float"},
    {"math.rsqrt", "float", "float"},
    {"math.absf", "float", "float"},
    {"math.absi", "integer", "integer"},
    {"math.ceil", "float", "float"},
    {"math.floor", "float", "float"},
    {"math.trunc", "float", "float"},
    {"math.round", "float", "float"},
    {"math.roundeven", "float", "float"},
    {"math.copysign", "float float", "float"},
    {"math.isnan", "float", "i1"},
    {"math.isinf", "float", "i1"},
    {"math.isfinite", "float", "i1"},
    {"math.tanh", "float", "float"},
    {"math.sinh", "float", "float"},
    {"math.cosh", "float", "float"},
    {"math.sin", "float", "float"},
    {"math.cos", "float", "float"},
    {"math.tan", "float", "float"},
    {"math.asin", "float", "float"},
    {"math.acos", "float", "float"},
    {"math.atan", "float", "float"},
    {"math.asinh", "float", "float"},
    {"math.acosh", "float", "float"},
    {"math.atanh", "float", "float"},
};

ArrayRef<ScalarOp> gradus::scalarOps() { return table; }

static bool isScalarOp(Operation &op) {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> names;
    for (const ScalarOp &op : table)
      names.insert(op.name);
    return names;
  }();
  return isa<arith::ConstantOp, plan::IndexOp, plan::YieldOp>(op) ||
         names.contains(op.getName().getStringRef());
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

/// Indices are no elements, but the ops of a region may have them.
static std::string unsupportedIn(Operation &op) {
  std::string holds = "holds op '" + op.getName().getStringRef().str() + "'",
              noCode = ", which no target has code for";
  if (!isScalarOp(op))
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
