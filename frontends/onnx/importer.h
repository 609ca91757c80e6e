// The model under import: what each of its value names stands for. Handlers of
// ops (operators.h) take their inputs from here and define their outputs.
#pragma once

#include "frontends/onnx/constant.h"
#include "frontends/onnx/export_marks.h"
#include "frontends/onnx/folding_budget.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/initial_weights.h"
#include "frontends/onnx/model_file.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/problems.h"

#include "ir/gradus.h"

#include <optional>
#include <set>

namespace gradus::onnx {

/// `name` matches `pattern`, in which * stands for any text.
bool matches(llvm::StringRef pattern, llvm::StringRef name);

/// True if a float initializer of this name and rank may be trained. Scalars
/// may only where a pattern names them, or where their own name is that of a
/// module's member (`blocks.0.gain`): most are constants.
bool mayBeTrained(llvm::StringRef name, int64_t rank,
                  const std::vector<std::string> &trainable);

/// True if a pattern other than * names it.
bool isNamed(const std::vector<std::string> &patterns, llvm::StringRef name);

class Importer {
public:
  Importer(ModelFile &file, const ExportMarks &marks,
           const ImportOptions &options, ProgramOp program, GraphOp graph);

  mlir::OpBuilder builder;
  /// What is wrong with nodes so far: one report tells all of it.
  Problems problems;
  /// How many nodes branches and loops have given so far.
  int64_t subgraphNodes = 0;
  /// What constants may take.
  FoldingBudget budget;
  /// How many times nodes have drawn random numbers so far.
  int64_t draws = 0;
  mlir::MLIRContext &context() const { return *builder.getContext(); }

  /// Location of a node's ops.
  mlir::Location location(const Node &node) const;

  /// Makes initializers and graph inputs known.
  absl::Status defineInitializers();
  /// Makes the initializers of a branch or a loop's body known.
  absl::Status defineInitializers(const ::onnx::GraphProto &graph);
  void defineInput(llvm::StringRef name, mlir::Value value);

  /// Whether the integers of a node's input stand for numbers from 0 on.
  bool isUnsigned(const Node &node, int input) const;
  bool isUnsignedOutput(const Node &node, int output) const;
  /// Says so of an output. One that is only defined is like the node's first
  /// input of its element type.
  void setUnsigned(const Node &node, int output, bool isUnsigned);

  /// Whether the recipe asks that rounding to integers passes gradients on.
  bool isStraightThrough() const;
  /// The floats, with their gradient, that a node's integers are; null where
  /// nothing has said so.
  mlir::Value asFloats(const Node &node, int input) const;
  void setFloats(const Node &node, int output, mlir::Value floats);
  /// Remembers a value that is rounded to integers and passes no gradient.
  void countRounding() { ++roundings_; }
  /// Whether the file or the recipe says that an initializer is a parameter.
  bool isSaidParameter(llvm::StringRef name) const;

  /// A node's input as a value; constants and states are made on demand.
  absl::StatusOr<mlir::Value> value(const Node &node, int input);
  /// A value by its name in the model, with its sign in its type.
  absl::StatusOr<mlir::Value> value(llvm::StringRef name,
                                    mlir::Location location);
  /// A node's input as a value of this rank.
  absl::StatusOr<mlir::Value> value(const Node &node, int input, int64_t rank);

  /// True if every input before `end` that is there is a constant.
  absl::StatusOr<bool> allConstant(const Node &node, int end) const;
  /// A node's input as a constant; null where it is none, or left out.
  const Constant *constant(const Node &node, int input) const;
  /// A node's input whose values are in the file: a constant, or an initializer
  /// that something else may train. Nothing where it is computed.
  absl::StatusOr<std::optional<Constant>> stored(const Node &node, int input);
  /// A node's input, which must be known integers, such as a shape.
  absl::StatusOr<llvm::SmallVector<int64_t>>
  integers(const Node &node, int input, const char *what) const;
  /// The type of a node's input.
  absl::StatusOr<mlir::RankedTensorType> type(const Node &node,
                                              int input) const;

  absl::Status define(const Node &node, int output, mlir::Value value);
  /// Throws FoldingLimit where the constants take too much memory.
  absl::Status define(const Node &node, int output, Constant constant);
  /// An output that is a sequence of tensors.
  absl::Status defineSequence(const Node &node, int output,
                              llvm::ArrayRef<mlir::Value> values);
  /// A node's input, which must be a sequence.
  absl::StatusOr<llvm::ArrayRef<mlir::Value>> sequence(const Node &node,
                                                       int input) const;
  /// What a node's output stands for; null where it is left out or a constant.
  mlir::Value valueOf(const Node &node, int output) const;
  /// An output that we do not compute: an error only where something uses it.
  void defineUnsupported(const Node &node, int output, const std::string &what);
  /// The outputs of a node that could not be imported. Where the file says that
  /// they are floats of some shape, nodes behind them can be checked as well;
  /// integers may be shapes, of which the values matter.
  void defineFailed(const Node &node);
  /// True if an error only says that an input is such an output.
  static bool isConsequence(const absl::Status &status) {
    return absl::IsAborted(status);
  }
  /// The elements of a tensor in the model.
  absl::StatusOr<Constant> constant(const ::onnx::TensorProto &tensor);

  struct Entry;
  /// What a name in the model stands for, to be given to another name.
  absl::StatusOr<Entry> meaning(const Node &node, llvm::StringRef name);
  void setMeaning(llvm::StringRef name, const Entry &entry);
  /// Undefines what a subgraph defined when it was last imported.
  void forget(const ::onnx::GraphProto &graph);

  /// Makes a state that a value is read from a buffer, which is never trained.
  /// False if the value is no state.
  bool makeBuffer(mlir::Value value);
  /// Remembers a normalization that the file has in inference form.
  void countInferenceForm() { ++inferenceForms_; }
  /// Remembers a dropout that the file has in inference form, with the ratio
  /// that it states.
  void countInferenceDropout(std::optional<double> ratio) {
    idleDropouts_ += !ratio;
    inferenceDropouts_ += ratio.value_or(0) > 0;
  }
  /// Says in a line each how training treats such nodes.
  void explainInferenceForm() const;

  /// Whether the user has chosen sizes that the file leaves open.
  bool hasChosenSizes() const { return !options_.dims.empty(); }

  /// A number of the recipe, where it has one under the key.
  std::optional<double> recipeNumber(llvm::StringRef key) const;

  /// Refuses patterns of the options that match no parameter.
  absl::Status checkPatterns() const;

  /// What a name stands for; one of the five is set.
  struct Entry {
    mlir::Value value;
    std::optional<llvm::SmallVector<mlir::Value>> sequence;
    std::shared_ptr<const Constant> constant;
    const ::onnx::TensorProto *state = nullptr;
    std::string unsupported; // why there is nothing
    bool failed = false;     // nothing, and the reason has been told
    bool isUnsigned = false; // integers from 0 on
    mlir::Value floats;      // the same numbers as integers, with a gradient

    /// The type of its elements; null where it has none, or is a state's.
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
  void explainDropouts() const;
  void explainRoundings() const;

  ModelFile &file_;
  const ExportMarks &marks_;
  const ImportOptions &options_;
  ProgramOp program_;
  GraphOp graph_;
  InitialWeights initialWeights_;
  llvm::StringMap<Entry> entries_;
  std::set<std::string> states_, exportConstants_;
  int inferenceForms_ = 0, inferenceDropouts_ = 0, idleDropouts_ = 0;
  int roundings_ = 0;
};

} // namespace gradus::onnx
