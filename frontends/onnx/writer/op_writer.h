// One op of the program, for its row in the table of exports, with short names
// for adding its nodes.
#pragma once

#include "frontends/onnx/writer/graph_writer.h"

#include "ir/gradus.h"
#include "messages/message.h"

#include <optional>

namespace gradus::onnx {

/// The model's name of an op's node; the op's own name if it has none.
std::string nodeName(mlir::Operation *op);

class OpWriter {
public:
  OpWriter(GraphWriter &graph, mlir::Operation *op) : graph(graph), op(op) {}

  std::string input(int number) const {
    return graph.nameOf(op->getOperand(number));
  }
  Names inputs() const;
  /// The operands as ONNX broadcasts them to the result's shape: without their
  /// own broadcasts, and of a repeated number one.
  Names spread(bool areUnsigned = false) const;
  Names spreadUnsigned() const { return spread(/*areUnsigned=*/true); }

  mlir::RankedTensorType type(int result = 0) const;
  mlir::RankedTensorType inputType(int number) const;
  /// A number of the operand's type.
  std::string number(double value, int like = 0) const {
    return graph.number(value, inputType(like).getElementType());
  }

  /// Adds a node between the operands and the result, and returns its name.
  std::string node(llvm::StringRef type, const Names &inputs,
                   const Attributes &attributes = {}) const;
  /// Adds the node of the result.
  absl::Status define(llvm::StringRef type, const Names &inputs,
                      const Attributes &attributes = {}, int result = 0) const;
  /// Adds the node of the result, which has unsigned integers.
  absl::Status defineUnsigned(llvm::StringRef type, const Names &inputs,
                              const Attributes &attributes = {}) const;
  /// The result is a value that has a name.
  absl::Status alias(const std::string &name) const;
  /// IsInf takes 16-bit floats since opset 20.
  void needOpsetOfIsInf() const;
  /// Adds the node IsInf, of infinities of both signs or of the positive one.
  std::string isInfinite(const std::string &from,
                         bool isPositive = false) const;
  /// The attributes of a Reshape to a shape, in which 0 is a size.
  static Attributes reshapeAttributes(llvm::ArrayRef<int64_t> shape);
  /// Changes a shape, if it is another.
  std::string shaped(const std::string &from, llvm::ArrayRef<int64_t> before,
                     llvm::ArrayRef<int64_t> after) const;

  /// An error: node "name" (op): message
  template <typename... Part> absl::Status error(const Part &...parts) const {
    return invalid(place(), message(parts...));
  }
  std::string place() const;

  GraphWriter &graph;
  mlir::Operation *op;
};

/// Writes an op of the program. Rows with a condition come first.
struct ExportRow {
  const char *op;   // "arith.addf"
  const char *node; // the type of the result's node, "Add"
  absl::Status (*write)(const OpWriter &, const char *node);
  /// Whether the op ends a formula that ONNX has as this node.
  bool (*matches)(mlir::Operation *) = nullptr;
};

/// An error if an operand or a result holds booleans.
absl::Status needNumbers(const OpWriter &w);
/// Writes a node of the same operands, without attributes.
absl::Status same(const OpWriter &w, const char *node);
/// Writes a node that broadcasts its operands by itself.
absl::Status broadcasting(const OpWriter &w, const char *node);
/// Writes such a node on unsigned integers.
absl::Status broadcastingUnsigned(const OpWriter &w, const char *node);
/// Writes a node of arithmetic, which is an error on booleans.
template <absl::Status (*write)(const OpWriter &, const char *)>
absl::Status ofNumbers(const OpWriter &w, const char *node) {
  GRADUS_RETURN_IF_ERROR(needNumbers(w));
  return write(w, node);
}

//===-- matching ----------------------------------------------------------===//

/// The number that all elements of a constant are, also behind a broadcast.
std::optional<double> numberOf(mlir::Value value);
bool isNumber(mlir::Value value, double number);

} // namespace gradus::onnx
