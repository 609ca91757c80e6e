// Nodes for one op.

#include "frontends/onnx/writer/op_writer.h"

#include "frontends/onnx/importer/fold.h"

#include "ir/build.h"

#include "mlir/IR/Matchers.h"

namespace gradus::onnx {

using namespace mlir;

static StringRef nameIn(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return named.getName();
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return nameIn(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = nameIn(part); !name.empty())
        return name;
  return {};
}

std::string nodeName(Operation *op) {
  StringRef name = nameIn(op->getLoc());
  return name.empty() ? op->getName().stripDialect().str() : name.str();
}

std::string OpWriter::place() const {
  return message("node \"", nodeName(op), "\" (",
                 op->getName().getStringRef().str(), "): ");
}

RankedTensorType OpWriter::type(int result) const {
  return tensorType(op->getResult(result));
}

RankedTensorType OpWriter::inputType(int number) const {
  return tensorType(op->getOperand(number));
}

Names OpWriter::inputs() const {
  Names names;
  for (Value operand : op->getOperands())
    names.push_back(graph.nameOf(operand));
  return names;
}

//===-- broadcasting ------------------------------------------------------===//

namespace {
/// An operand as it is before it is broadcast.
struct Narrow {
  Value value;                // null: a number
  DenseElementsAttr number;   // of rank 0
  SmallVector<int64_t> shape; // aligned at the last dimension
};
} // namespace

static Narrow narrow(Value operand) {
  DenseElementsAttr elements;
  auto type = tensorType(operand);
  if (matchPattern(operand, m_Constant(&elements)) && elements.isSplat())
    return {{}, elements.resizeSplat(type.clone(ArrayRef<int64_t>())), {}};
  if (auto broadcast = operand.getDefiningOp<BroadcastOp>()) {
    Value from = broadcast.getInput();
    SmallVector<int64_t> shape;
    ArrayRef<int64_t> dimensions = broadcast.getDimensions();
    int64_t rank = type.getRank();
    if (!dimensions.empty())
      shape.assign(rank - dimensions.front(), 1);
    for (auto [axis, size] : llvm::zip(dimensions, tensorType(from).getShape()))
      shape[axis - dimensions.front()] = size;
    return {from, {}, shape};
  }
  return {operand, {}, SmallVector<int64_t>(type.getShape())};
}

static std::string nameOf(const OpWriter &w, const Narrow &operand,
                          bool isUnsigned) {
  if (!operand.value)
    return w.graph.constant(operand.number, isUnsigned);
  std::string name = isUnsigned ? w.graph.unsignedNameOf(operand.value)
                                : w.graph.nameOf(operand.value);
  return w.shaped(name, tensorType(operand.value).getShape(), operand.shape);
}

/// ONNX would give a smaller result if all operands were broadcast.
Names OpWriter::spread(bool areUnsigned) const {
  SmallVector<Narrow> operands;
  SmallVector<int64_t> common;
  for (Value operand : op->getOperands()) {
    operands.push_back(narrow(operand));
    common = *commonShape(common, operands.back().shape);
  }
  bool isWhole = ArrayRef<int64_t>(common) == type().getShape();
  Names names;
  for (auto [operand, whole] : llvm::zip(operands, op->getOperands())) {
    bool isFirst = names.empty() && !isWhole;
    names.push_back(!isFirst      ? nameOf(*this, operand, areUnsigned)
                    : areUnsigned ? graph.unsignedNameOf(whole)
                                  : graph.nameOf(whole));
  }
  return names;
}

//===-- nodes -------------------------------------------------------------===//

std::string OpWriter::node(StringRef type, const Names &inputs,
                           const Attributes &attributes) const {
  std::string name = graph.fresh(nodeName(op) + "/" + type.str());
  graph.add(type, inputs, {name}, name, attributes);
  return name;
}

absl::Status OpWriter::define(StringRef type, const Names &inputs,
                              const Attributes &attributes, int result) const {
  std::string name = graph.nameFor(op->getResult(result), nodeName(op));
  graph.add(type, inputs, {name}, nodeName(op), attributes);
  return graph.setName(op->getResult(result), name), absl::OkStatus();
}

absl::Status OpWriter::defineUnsigned(StringRef type, const Names &inputs,
                                      const Attributes &attributes) const {
  std::string name = graph.fresh(nodeName(op));
  graph.add(type, inputs, {name}, nodeName(op), attributes);
  return graph.setUnsignedName(op->getResult(0), name), absl::OkStatus();
}

absl::Status OpWriter::alias(const std::string &name) const {
  return graph.setName(op->getResult(0), name), absl::OkStatus();
}

void OpWriter::needOpsetOfIsInf() const {
  if (inputType(0).getElementTypeBitWidth() == 16)
    graph.needOpset(20);
}

std::string OpWriter::isInfinite(const std::string &from,
                                 bool isPositive) const {
  needOpsetOfIsInf();
  if (!isPositive)
    return node("IsInf", {from});
  return node("IsInf", {from}, {attribute("detect_negative", int64_t(0))});
}

Attributes OpWriter::reshapeAttributes(ArrayRef<int64_t> shape) {
  if (!llvm::is_contained(shape, 0))
    return {};
  return {attribute("allowzero", int64_t(1))};
}

std::string OpWriter::shaped(const std::string &from, ArrayRef<int64_t> before,
                             ArrayRef<int64_t> after) const {
  if (before == after)
    return from;
  return node("Reshape", {from, graph.integers(after)},
              reshapeAttributes(after));
}

//===-- forms -------------------------------------------------------------===//

absl::Status needNumbers(const OpWriter &w) {
  auto isTruth = [](Type type) {
    return getElementTypeOrSelf(type).isInteger(1);
  };
  if (llvm::any_of(w.op->getOperandTypes(), isTruth) ||
      llvm::any_of(w.op->getResultTypes(), isTruth))
    return w.error("is of booleans, for which ONNX has no such node");
  return absl::OkStatus();
}

absl::Status same(const OpWriter &w, const char *node) {
  return w.define(node, w.inputs());
}

absl::Status broadcasting(const OpWriter &w, const char *node) {
  return w.define(node, w.spread());
}

absl::Status broadcastingUnsigned(const OpWriter &w, const char *node) {
  bool givesTruth = w.type().getElementType().isInteger(1);
  return givesTruth ? w.define(node, w.spreadUnsigned())
                    : w.defineUnsigned(node, w.spreadUnsigned());
}

std::optional<double> numberOf(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat number = elements.getSplatValue<APFloat>();
    bool ignored = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &ignored);
    return number.convertToDouble();
  }
  return elements.getSplatValue<APInt>().getSExtValue();
}

bool isNumber(Value value, double number) { return numberOf(value) == number; }

} // namespace gradus::onnx
