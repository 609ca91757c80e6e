// The ONNX graph during an export: its nodes, its constants and the names of
// values. Rows of ops (op_writer.h) add their nodes here.
#pragma once

#include "frontends/onnx/file/onnx.pb.h"

#include "mlir/IR/Value.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::onnx {

using Names = std::vector<std::string>;
using Attributes = std::vector<::onnx::AttributeProto>;

::onnx::AttributeProto attribute(const char *name, int64_t value);
::onnx::AttributeProto attribute(const char *name, double value);
::onnx::AttributeProto attribute(const char *name, const char *value);
::onnx::AttributeProto attribute(const char *name,
                                 llvm::ArrayRef<int64_t> values);

/// The data type of a tensor of these elements. Integers without a sign are
/// signed, unless `isUnsigned`.
int dataType(mlir::Type element, bool isUnsigned = false);

class GraphWriter {
public:
  GraphWriter(::onnx::GraphProto &graph, bool isForInference)
      : graph_(graph), isForInference_(isForInference) {}

  /// Whether normalization and dropout are written as for inference.
  bool isForInference() const { return isForInference_; }

  /// A name that nothing has yet: this one, or it with a number.
  std::string fresh(llvm::StringRef wanted);
  /// Keeps a name; fails if another value has it. `what` is "an output", ...
  absl::Status reserve(llvm::StringRef name, const char *what);
  /// Keeps a name for a graph output; the first one of a value is the value's.
  absl::Status reserveOutput(mlir::Value value, llvm::StringRef name);

  /// The name for a value's node: that of its output, or a fresh one.
  std::string nameFor(mlir::Value value, llvm::StringRef wanted);
  void setName(mlir::Value value, const std::string &name);
  /// Names a value whose integers ONNX has as unsigned ones.
  void setUnsignedName(mlir::Value value, const std::string &name);
  /// Only a use of the value is an error.
  void refuse(mlir::Value value, const absl::Status &status);

  /// The name of a value; integers without a sign are signed.
  std::string nameOf(mlir::Value value);
  /// The name of the same bits as unsigned integers.
  std::string unsignedNameOf(mlir::Value value);
  bool hasUnsignedName(mlir::Value value) const;

  /// Adds a node, called `name`, with these outputs.
  ::onnx::NodeProto &add(llvm::StringRef type, const Names &inputs,
                         const Names &outputs, llvm::StringRef name,
                         const Attributes &attributes = {});

  /// Adds outputs to the last node.
  void addOutputs(const Names &outputs);
  /// Leaves a note at the last node.
  void mark(llvm::StringRef key, llvm::StringRef value);

  /// A vector of i64; equal ones are one constant.
  std::string integers(llvm::ArrayRef<int64_t> values);
  /// A scalar of this type.
  std::string number(double value, mlir::Type element, bool isUnsigned = false);
  /// Any elements; of equal ones a single one is stored.
  std::string constant(mlir::ElementsAttr elements, bool isUnsigned = false);

  /// The file needs a set of operators of at least this version.
  void needOpset(int64_t version) { opset_ = std::max(opset_, version); }
  int64_t opset() const { return opset_; }

  /// Declares the outputs and removes all nodes that they do not need; fails if
  /// they need a refused value. Returns the names of the values that are used.
  absl::StatusOr<llvm::StringSet<>> finish(mlir::ValueRange outputs,
                                           llvm::ArrayRef<std::string> names);

private:
  struct Named {
    std::string plain, unsignedName;
  };

  std::string addConstant(const ::onnx::TensorProto &tensor);
  std::string cast(const std::string &from, int to);
  absl::StatusOr<llvm::StringSet<>> removeUnused();

  ::onnx::GraphProto &graph_;
  bool isForInference_;
  llvm::StringSet<> used_;
  llvm::StringMap<const char *> reserved_; // what has the name
  llvm::StringMap<int> numbers_;
  llvm::DenseMap<mlir::Value, Named> names_;
  llvm::DenseMap<mlir::Value, std::string> outputNames_;
  std::map<std::string, std::string> constants_;              // names by bytes
  std::vector<std::pair<std::string, absl::Status>> refused_; // in their order
  int64_t opset_ = 18;
};

/// Describes a value for the graph's inputs and outputs.
void describe(::onnx::ValueInfoProto &info, llvm::StringRef name,
              mlir::Type type);

/// Stores elements in a tensor.
void store(::onnx::TensorProto &tensor, mlir::ElementsAttr elements,
           bool isUnsigned = false);

} // namespace gradus::onnx
