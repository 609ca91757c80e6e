// The model during import: the meaning of each of its value names. Handlers of
// ops (operators.h) read their inputs and define their outputs here.
#pragma once

#include "frontends/onnx/file/initial_weights.h"
#include "frontends/onnx/file/model_file.h"
#include "frontends/onnx/file/node.h"
#include "frontends/onnx/file/problems.h"
#include "frontends/onnx/importer/constant.h"
#include "frontends/onnx/importer/folding_budget.h"
#include "frontends/onnx/importer/import_options.h"
#include "frontends/onnx/importer/training_notes.h"
#include "frontends/onnx/pytorch/export_marks.h"

#include "ir/gradus.h"

#include <optional>
#include <set>

namespace gradus::onnx {

/// True if a float initializer of this name and rank may be trained. Scalars
/// may only if a pattern names them, or if their name is that of a module's
/// member (`blocks.0.gain`): most are constants.
bool mayBeTrained(llvm::StringRef name, int64_t rank,
                  const std::vector<std::string> &trainable);

/// True if a pattern other than * names it.
bool isNamed(const std::vector<std::string> &patterns, llvm::StringRef name);

class Importer {
public:
  Importer(ModelFile &file, const ExportMarks &marks,
           const ImportOptions &options, ProgramOp program, GraphOp graph);

  mlir::OpBuilder builder;
  /// The errors of nodes so far, for one report.
  Problems problems;
  /// The number of nodes in nested graphs so far.
  int64_t subgraphNodes = 0;
  /// The memory for constants.
  FoldingBudget budget;
  /// The number of random draws by nodes so far.
  int64_t draws = 0;
  /// Notes on how training treats the nodes so far.
  TrainingNotes trainingNotes;
  mlir::MLIRContext &context() const { return *builder.getContext(); }

  /// The location of a node's ops.
  mlir::Location location(const Node &node) const;

  /// Defines initializers and graph inputs.
  absl::Status defineInitializers();
  /// Defines the initializers of a nested graph.
  absl::Status defineInitializers(const ::onnx::GraphProto &graph);
  void defineInput(llvm::StringRef name, mlir::Value value);

  /// Whether the integers of a node's input are unsigned.
  bool isUnsigned(const Node &node, int input) const;
  bool isUnsignedOutput(const Node &node, int output) const;
  /// Sets whether an output is unsigned. Without this call it is like the
  /// node's first input of its element type.
  void setUnsigned(const Node &node, int output, bool isUnsigned);

  /// Whether the recipe asks that rounding to integers passes gradients on.
  bool isStraightThrough() const;
  /// The floats, with their gradient, that equal a node's integers; null if
  /// none were set.
  mlir::Value asFloats(const Node &node, int input) const;
  void setFloats(const Node &node, int output, mlir::Value floats);
  /// Whether the file or the recipe states that an initializer is a parameter.
  bool isSaidParameter(llvm::StringRef name) const;

  /// A node's input as a value; constants and states are made on demand.
  absl::StatusOr<mlir::Value> value(const Node &node, int input);
  /// A value by its name in the model; its type shows the sign.
  absl::StatusOr<mlir::Value> value(llvm::StringRef name,
                                    mlir::Location location);
  /// A node's input as a value of this rank.
  absl::StatusOr<mlir::Value> value(const Node &node, int input, int64_t rank);

  /// True if every given input before `end` is a constant.
  absl::StatusOr<bool> allConstant(const Node &node, int end) const;
  /// A node's input as a constant; null if it is not one, or left out.
  const Constant *constant(const Node &node, int input) const;
  /// The values in the file of a node's input: a constant, or an initializer
  /// that another node may train. Nothing if the input is computed.
  absl::StatusOr<std::optional<Constant>> stored(const Node &node, int input);
  /// A node's input as known integers, such as a shape; an error otherwise.
  absl::StatusOr<llvm::SmallVector<int64_t>>
  integers(const Node &node, int input, const char *what) const;
  /// The type of a node's input.
  absl::StatusOr<mlir::RankedTensorType> type(const Node &node,
                                              int input) const;

  absl::Status define(const Node &node, int output, mlir::Value value);
  /// Throws FoldingLimit if constants need too much memory.
  absl::Status define(const Node &node, int output, Constant constant);
  /// Defines an output that is a sequence of tensors.
  absl::Status defineSequence(const Node &node, int output,
                              llvm::ArrayRef<mlir::Value> values);
  /// A node's input, which must be a sequence.
  absl::StatusOr<llvm::ArrayRef<mlir::Value>> sequence(const Node &node,
                                                       int input) const;
  /// The value of a node's output; null if it is left out or a constant.
  mlir::Value valueOf(const Node &node, int output) const;
  /// Defines an output that we do not compute; only its use is an error.
  void defineUnsupported(const Node &node, int output, const std::string &what);
  /// Defines the outputs of a node that could not be imported. If the file
  /// states that they are floats of some shape, later nodes can be checked as
  /// well; the values of integers may be needed as shapes.
  void defineFailed(const Node &node);
  /// True if an error only says that an input is such an output.
  static bool isConsequence(const absl::Status &status) {
    return absl::IsAborted(status);
  }
  /// The elements of a tensor in the model.
  absl::StatusOr<Constant> constant(const ::onnx::TensorProto &tensor);

  struct Entry;
  /// The meaning of a name, to be given to another name.
  absl::StatusOr<Entry> meaning(const Node &node, llvm::StringRef name);
  void setMeaning(llvm::StringRef name, const Entry &entry);
  /// Undefines the names that a subgraph defined when it was last imported.
  void forget(const ::onnx::GraphProto &graph);

  /// Makes the state of a value a buffer, which is never trained. Returns false
  /// if the value is not a state.
  bool makeBuffer(mlir::Value value);
  /// Whether the user has chosen sizes that the file leaves open.
  bool hasChosenSizes() const { return !options_.dims.empty(); }

  /// A number of the recipe; nothing if the key is not set.
  std::optional<double> recipeNumber(llvm::StringRef key) const {
    return numberOf(options_.recipe, key);
  }

  /// Refuses patterns of the options that match no parameter.
  absl::Status checkPatterns() const;

  /// The meaning of a name: one of value, sequence, constant, state,
  /// unsupported and failed.
  struct Entry {
    mlir::Value value;
    std::optional<llvm::SmallVector<mlir::Value>> sequence;
    std::shared_ptr<const Constant> constant;
    const ::onnx::TensorProto *state = nullptr;
    std::string unsupported; // the reason without a value
    bool failed = false;     // no value; the error has been reported
    bool isUnsigned = false; // unsigned integers
    mlir::Value floats;      // the same numbers as integers, with a gradient

    /// The type of its elements; null if it has none, or is a state's.
    mlir::Type element() const;
  };

private:
  absl::StatusOr<const Entry *> find(const Node &node,
                                     llvm::StringRef name) const;
  absl::StatusOr<Entry *> find(const Node &node, int input);
  absl::StatusOr<const Entry *> find(const Node &node, int input) const;
  absl::Status defineInitializer(const ::onnx::TensorProto &tensor);
  bool isState(const ::onnx::TensorProto &tensor, mlir::Type element) const;
  mlir::RankedTensorType statedType(llvm::StringRef name) const;
  bool unsignedLikeInputs(const Node &node, int output,
                          mlir::Type element) const;
  absl::StatusOr<mlir::Value> materialize(Entry &entry,
                                          mlir::Location location);
  absl::StatusOr<mlir::Value> readState(const ::onnx::TensorProto &tensor);
  Role roleOf(llvm::StringRef name) const;

  ModelFile &file_;
  const ExportMarks &marks_;
  const ImportOptions &options_;
  ProgramOp program_;
  GraphOp graph_;
  InitialWeights initialWeights_;
  llvm::StringMap<Entry> entries_;
  std::set<std::string> states_, exportConstants_;
};

} // namespace gradus::onnx
