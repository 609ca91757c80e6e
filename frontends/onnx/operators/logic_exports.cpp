// Writes comparisons, choices and functions of single numbers.

#include "frontends/onnx/operators/exports.h"

#include "ir/build.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;
using IntegerIs = arith::CmpIPredicate;
using FloatIs = arith::CmpFPredicate;

/// A comparison that holds, or with `isNot` one that does not.
struct Comparison {
  const char *node;
  bool isNot;
};

/// Comparisons with NaN are false if ordered, else true.
Comparison comparisonOf(FloatIs predicate) {
  switch (predicate) {
  case FloatIs::OEQ:
    return {"Equal", false};
  case FloatIs::UNE:
    return {"Equal", true};
  case FloatIs::OGT:
    return {"Greater", false};
  case FloatIs::ULE:
    return {"Greater", true};
  case FloatIs::OGE:
    return {"GreaterOrEqual", false};
  case FloatIs::ULT:
    return {"GreaterOrEqual", true};
  case FloatIs::OLT:
    return {"Less", false};
  case FloatIs::UGE:
    return {"Less", true};
  case FloatIs::OLE:
    return {"LessOrEqual", false};
  case FloatIs::UGT:
    return {"LessOrEqual", true};
  default:
    return {nullptr, false};
  }
}

absl::Status writeComparison(const OpWriter &w, Comparison comparison,
                             const Names &operands) {
  if (!comparison.isNot)
    return w.define(comparison.node, operands);
  return w.define("Not", {w.node(comparison.node, operands)});
}

/// Writes comparisons that ONNX lacks by others.
absl::Status writeFloatComparison(const OpWriter &w, const char *) {
  auto compare = cast<arith::CmpFOp>(w.op);
  Names operands = w.spread();
  if (Comparison found = comparisonOf(compare.getPredicate()); found.node)
    return writeComparison(w, found, operands);
  std::string less = w.node("Less", operands),
              more = w.node("Greater", operands);
  if (compare.getPredicate() == FloatIs::ONE)
    return w.define("Or", {less, more});
  std::string ordered =
      w.node("Or", {w.node("Or", {less, more}), w.node("Equal", operands)});
  if (compare.getPredicate() == FloatIs::ORD)
    return w.define("Identity", {ordered});
  if (compare.getPredicate() == FloatIs::UNO)
    return w.define("Not", {ordered});
  if (compare.getPredicate() == FloatIs::UEQ)
    return w.define("Not", {w.node("Or", {less, more})});
  return w.error("always gives the same, which folding removes");
}

absl::Status writeIntegerComparison(const OpWriter &w, const char *) {
  auto compare = cast<arith::CmpIOp>(w.op);
  bool isTruth = w.inputType(0).getElementType().isInteger(1);
  bool isOrdered = compare.getPredicate() != IntegerIs::eq &&
                   compare.getPredicate() != IntegerIs::ne;
  if (isTruth && isOrdered)
    return needNumbers(w);
  switch (compare.getPredicate()) {
  case IntegerIs::eq:
    return w.define("Equal", w.spread());
  case IntegerIs::ne:
    return isTruth ? w.define("Xor", w.spread())
                   : w.define("Not", {w.node("Equal", w.spread())});
  case IntegerIs::slt:
    return w.define("Less", w.spread());
  case IntegerIs::sle:
    return w.define("LessOrEqual", w.spread());
  case IntegerIs::sgt:
    return w.define("Greater", w.spread());
  case IntegerIs::sge:
    return w.define("GreaterOrEqual", w.spread());
  case IntegerIs::ult:
    return w.define("Less", w.spreadUnsigned());
  case IntegerIs::ule:
    return w.define("LessOrEqual", w.spreadUnsigned());
  case IntegerIs::ugt:
    return w.define("Greater", w.spreadUnsigned());
  case IntegerIs::uge:
    return w.define("GreaterOrEqual", w.spreadUnsigned());
  }
  llvm_unreachable("all comparisons are above");
}

/// Whether an exclusive or has the constant true.
bool isNot(Operation *op) {
  return tensorType(op->getResult(0)).getElementType().isInteger(1) &&
         isNumber(op->getOperand(1), -1);
}

absl::Status writeNot(const OpWriter &w, const char *node) {
  return w.define(node, {w.input(0)});
}

absl::Status writeIsFinite(const OpWriter &w, const char *node) {
  return w.define(node, {w.node("Or", {w.node("IsNaN", {w.input(0)}),
                                       w.isInfinite(w.input(0))})});
}

absl::Status writeIsInf(const OpWriter &w, const char *node) {
  w.needOpsetOfIsInf();
  return same(w, node);
}

/// The remainder has the sign of the dividend.
absl::Status writeRemainder(const OpWriter &w, const char *node) {
  return w.define(node, w.spread(), {attribute("fmod", int64_t(1))});
}

absl::Status writeFma(const OpWriter &w, const char *node) {
  return w.define(node, {w.node("Mul", {w.input(0), w.input(1)}), w.input(2)});
}

/// x to the power of -1/2.
absl::Status writeRsqrt(const OpWriter &w, const char *node) {
  return w.define(node, {w.input(0), w.number(-0.5)});
}

absl::Status writeExp2(const OpWriter &w, const char *node) {
  return w.define(node, {w.number(2), w.input(0)});
}

/// A logarithm of another base, as a multiple of the natural one.
template <int base>
absl::Status writeLogarithm(const OpWriter &w, const char *node) {
  return w.define(node, {w.node("Log", {w.input(0)}),
                         w.number(1 / std::log(double(base)))});
}

/// Rounds the size of a number and gives it the sign back.
absl::Status withSign(const OpWriter &w, const char *node,
                      const std::string &size, const std::string &signOf) {
  std::string isNegative = w.node("Less", {signOf, w.number(0)});
  return w.define(node, {isNegative, w.node("Neg", {size}), size});
}

absl::Status writeTrunc(const OpWriter &w, const char *node) {
  return withSign(w, node, w.node("Floor", {w.node("Abs", {w.input(0)})}),
                  w.input(0));
}

/// Halves are rounded away from zero.
absl::Status writeRound(const OpWriter &w, const char *node) {
  std::string size = w.node("Abs", {w.input(0)}),
              whole = w.node("Floor", {size});
  std::string isMore =
      w.node("GreaterOrEqual", {w.node("Sub", {size, whole}), w.number(0.5)});
  std::string next = w.node("Add", {whole, w.number(1)});
  return withSign(w, node, w.node("Where", {isMore, next, whole}), w.input(0));
}

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"arith.cmpf", "Equal", writeFloatComparison},
    {"arith.cmpi", "Equal", writeIntegerComparison},
    {"arith.xori", "Not", writeNot, isNot},
    {"arith.select", "Where", broadcasting},
    {"math.isnan", "IsNaN", same},
    {"math.isinf", "IsInf", writeIsInf},
    {"math.isfinite", "Not", writeIsFinite},
    {"arith.maximumf", "Max", broadcasting},
    {"arith.minimumf", "Min", broadcasting},
    {"arith.maxsi", "Max", ofNumbers<broadcasting>},
    {"arith.minsi", "Min", ofNumbers<broadcasting>},
    {"arith.maxui", "Max", ofNumbers<broadcastingUnsigned>},
    {"arith.minui", "Min", ofNumbers<broadcastingUnsigned>},
    {"arith.remf", "Mod", writeRemainder},
    {"arith.remsi", "Mod", ofNumbers<writeRemainder>},
    {"arith.remui", "Mod", ofNumbers<broadcastingUnsigned>},
    {"math.powf", "Pow", broadcasting},
    {"math.fma", "Add", writeFma},
    {"math.rsqrt", "Pow", writeRsqrt},
    {"math.exp2", "Pow", writeExp2},
    {"math.log2", "Mul", writeLogarithm<2>},
    {"math.log10", "Mul", writeLogarithm<10>},
    {"math.absf", "Abs", same},
    {"math.absi", "Abs", ofNumbers<same>},
    {"arith.negf", "Neg", same},
    {"math.ceil", "Ceil", same},
    {"math.floor", "Floor", same},
    {"math.roundeven", "Round", same},
    {"math.round", "Where", writeRound},
    {"math.trunc", "Where", writeTrunc},
    {"math.sin", "Sin", same},
    {"math.cos", "Cos", same},
    {"math.tan", "Tan", same},
    {"math.sinh", "Sinh", same},
    {"math.cosh", "Cosh", same},
    {"math.asin", "Asin", same},
    {"math.acos", "Acos", same},
    {"math.atan", "Atan", same},
    {"math.asinh", "Asinh", same},
    {"math.acosh", "Acosh", same},
    {"math.atanh", "Atanh", same},
};

} // namespace

llvm::ArrayRef<ExportRow> logicExports() { return kExports; }

} // namespace gradus::onnx
