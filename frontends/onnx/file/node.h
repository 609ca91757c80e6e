// One node of the model for handlers: names, attributes with their defaults,
// errors that say where.
#pragma once

#include "messages/error_kind.h"
#include "messages/message.h"
#include "messages/printable.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace gradus::onnx {

class Node {
public:
  Node(const ::onnx::NodeProto &proto, int index, int64_t opset)
      : proto_(proto), index_(index), opset_(opset) {}

  /// The op, with its domain unless that is the default.
  std::string type() const;
  /// The node's name, or the op and its number in the file.
  std::string name() const;
  int64_t opset() const { return opset_; }
  const ::onnx::NodeProto &proto() const { return proto_; }

  int inputCount() const;
  int outputCount() const;
  /// The name of an input or output; empty if it is left out.
  llvm::StringRef input(int index) const;
  llvm::StringRef output(int index) const;
  /// A tool's note at the node; empty if there is none.
  llvm::StringRef metadata(llvm::StringRef key) const;

  /// Says that an attribute changes no result of this node, so that nothing
  /// reads it; the caller says why.
  void ignore(const char *key) const { attribute(key); }
  /// The attributes that none of the functions around was asked for, in the
  /// file's order.
  llvm::SmallVector<const ::onnx::AttributeProto *> unread() const;

  bool hasAttribute(const char *key) const { return attribute(key); }
  int64_t integer(const char *key, int64_t fallback) const;
  double number(const char *key, double fallback) const;
  std::string text(const char *key, const char *fallback) const;
  llvm::SmallVector<int64_t>
  integers(const char *key, llvm::ArrayRef<int64_t> fallback = {}) const;
  llvm::SmallVector<double> numbers(const char *key) const;
  llvm::SmallVector<std::string> texts(const char *key) const;
  /// A tensor attribute, or null.
  const ::onnx::TensorProto *tensor(const char *key) const;
  /// A graph attribute, or null.
  const ::onnx::GraphProto *graph(const char *key) const;

  /// The place of an error: `node "name" (Type): `.
  std::string place() const;
  /// An error: node "name" (Type): message
  template <typename... Part> absl::Status error(const Part &...parts) const {
    return errorAt(place(), message(parts...));
  }

private:
  const ::onnx::AttributeProto *attribute(const char *key) const;

  const ::onnx::NodeProto &proto_;
  /// `read_` is the one record of the attributes that the import knows.
  mutable llvm::SmallPtrSet<const ::onnx::AttributeProto *, 8> read_;
  int index_;
  int64_t opset_;
};

} // namespace gradus::onnx
