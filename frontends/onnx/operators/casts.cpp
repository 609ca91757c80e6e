// Casts between types of elements.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {

using namespace mlir;

/// Rounds towards zero; goes through an integer that is wider than the result.
static Value floatToInteger(const Building &b, Value value, Type element,
                            bool toUnsigned) {
  RankedTensorType type = tensorType(value);
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 64 && toUnsigned)
    return b.make<arith::FPToUIOp>(type.clone(element), value);
  unsigned wide = width < 32 ? 32 : width == 32 && toUnsigned ? 64 : width;
  Type through = b.builder.getIntegerType(wide);
  Value whole = b.make<arith::FPToSIOp>(type.clone(through), value);
  return wide == width ? whole
                       : b.make<arith::TruncIOp>(type.clone(element), whole);
}

Value castTo(const Building &b, Value value, Type element, bool fromUnsigned,
             bool toUnsigned) {
  RankedTensorType type = tensorType(value);
  Type from = type.getElementType(), to = type.clone(element);
  if (from == element)
    return value;
  if (isa<FloatType>(element) && fromUnsigned)
    return b.make<arith::UIToFPOp>(to, value);
  if (isa<FloatType>(element))
    return convert(b.builder, b.loc, value, element);
  if (element.isInteger(1) && isa<FloatType>(from))
    return b.compare(arith::CmpFPredicate::UNE, value, b.number(0, value));
  if (element.isInteger(1))
    return b.compare(arith::CmpIPredicate::ne, value, b.number(0, value));
  if (isa<FloatType>(from))
    return floatToInteger(b, value, element, toUnsigned);
  bool widens = from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth();
  if (from.isInteger(1) || (fromUnsigned && widens))
    return b.make<arith::ExtUIOp>(to, value);
  if (widens)
    return b.make<arith::ExtSIOp>(to, value);
  return b.make<arith::TruncIOp>(to, value);
}

absl::Status judgeCast(const Node &node) {
  int64_t to = node.integer("to", 0);
  return hasElementType(to) ? absl::OkStatus()
                            : node.error("casts to ", dataTypeName(to),
                                         ", which is not supported");
}

absl::Status checkPrecision(const Node &node, const char *key, Type element,
                            int64_t otherwise) {
  int64_t found = node.integer(key, otherwise),
          ours = dataType(computeType(element));
  if (found == otherwise || found == ours)
    return absl::OkStatus();
  return node.error("its attribute \"", key, "\" is ", found, " (",
                    dataTypeName(found), "), expected ", ours, " (",
                    dataTypeName(ours), "), in which it is computed");
}

namespace {

absl::Status cast(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  int64_t to = node.integer("to", 0);
  Type element = elementType(to, importer.context());
  bool toUnsigned = isUnsigned(to);
  GRADUS_RETURN_IF_ERROR(importer.define(
      node, 0, castTo(b, value, element, b.isUnsigned(), toUnsigned)));
  importer.setUnsigned(node, 0, toUnsigned);
  return absl::OkStatus();
}

absl::Status castLike(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType like, importer.type(node, 1));
  bool toUnsigned = b.isUnsigned(1);
  GRADUS_RETURN_IF_ERROR(importer.define(
      node, 0,
      castTo(b, value, like.getElementType(), b.isUnsigned(), toUnsigned)));
  importer.setUnsigned(node, 0, toUnsigned);
  return absl::OkStatus();
}

//===-- export ------------------------------------------------------------===//

int64_t target(const OpWriter &w, bool isUnsigned = false) {
  return dataType(w.type().getElementType(), isUnsigned);
}

absl::Status writeCast(const OpWriter &w, const char *node) {
  return w.define(node, {w.input(0)}, {attribute("to", target(w))});
}

/// Booleans have no sign.
absl::Status writeUnsignedCast(const OpWriter &w, const char *node) {
  bool isTruth = w.inputType(0).getElementType().isInteger(1);
  std::string from =
      isTruth ? w.input(0) : w.graph.unsignedNameOf(w.op->getOperand(0));
  return w.define(node, {from}, {attribute("to", target(w))});
}

absl::Status writeCastToUnsigned(const OpWriter &w, const char *node) {
  return w.defineUnsigned(node, {w.input(0)},
                          {attribute("to", target(w, /*isUnsigned=*/true))});
}

/// Whether the op asks if its operand is not 0: a cast to booleans.
bool isTruth(Operation *op) {
  auto floats = dyn_cast<arith::CmpFOp>(op);
  auto integers = dyn_cast<arith::CmpIOp>(op);
  bool asks = floats ? floats.getPredicate() == arith::CmpFPredicate::UNE
                     : integers.getPredicate() == arith::CmpIPredicate::ne;
  return asks && isNumber(op->getOperand(1), 0);
}

constexpr Ignored kIgnored[] = {{"saturate", kWhyNarrow},
                                {"round_mode", kWhyNarrow}};

const Operator kOperators[] = {
    {"Cast",
     {6, "input", "types that Gradus has not", judgeCast, "", kIgnored},
     cast},
    {"CastLike",
     {15, "input", "types that Gradus has not", nullptr, "", kIgnored},
     castLike,
     nullptr,
     true,
     /*firstTypeInput=*/1},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"arith.extf", "Cast", writeCast},
    {"arith.truncf", "Cast", writeCast},
    {"arith.extsi", "Cast", ofNumbers<writeCast>},
    {"arith.extui", "Cast", writeUnsignedCast},
    {"arith.trunci", "Cast", ofNumbers<writeCast>},
    {"arith.sitofp", "Cast", ofNumbers<writeCast>},
    {"arith.uitofp", "Cast", writeUnsignedCast},
    {"arith.fptosi", "Cast", ofNumbers<writeCast>},
    {"arith.fptoui", "Cast", ofNumbers<writeCastToUnsigned>},
    {"arith.cmpf", "Cast", writeCast, isTruth},
    {"arith.cmpi", "Cast", writeCast, isTruth},
};

} // namespace

llvm::ArrayRef<Operator> castOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> castExports() { return kExports; }

} // namespace gradus::onnx
