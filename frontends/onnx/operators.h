// The table of ONNX ops: how each is imported and how it folds on constants.
#pragma once

#include "frontends/onnx/importer.h"
#include "frontends/onnx/well_formed.h"

#include <limits>

namespace gradus::onnx {

/// The inputs of a node that folds; null where one is left out.
using Constants = llvm::ArrayRef<const Constant *>;

/// What users are told of an op (docs/reference/onnx_operators.md), and what
/// tests hold it to.
struct Support {
  /// The first version of ONNX's operator set that has it, in the form we take.
  int64_t since;
  /// The inputs that pass gradients on, by their names in ONNX: "X, W, B".
  const char *gradient = "";
  /// What of it is refused, in words.
  const char *refused = "";
  /// What its attributes alone say against a node; asked before all else, also
  /// where inputs are unknown.
  absl::Status (*judge)(const Node &) = nullptr;
  /// What to do instead where inputs are computed, of an op that takes
  /// constants alone; in words.
  const char *wayOut = "";
};

struct Operator {
  const char *name;
  Support support;
  /// Builds the node's ops; null: works on constants only.
  absl::Status (*build)(Importer &, const Node &);
  /// Computes its first output from constants; null: the reference evaluator
  /// folds what `build` builds.
  absl::StatusOr<Constant> (*fold)(const Node &, Constants) = nullptr;
  /// False for what makes sequences, which are values.
  bool foldsByEvaluation = true;
  /// Of inputs from this one on only the type matters.
  int firstTypeInput = std::numeric_limits<int>::max();
  /// Whether inputs may have no elements; `findOperator` says so by family.
  bool takesEmpty = false;

  bool folds() const { return build && foldsByEvaluation; }
};

// One table per family, in the file of that name.
llvm::ArrayRef<Operator> elementwiseOperators();
llvm::ArrayRef<Operator> matrixOperators();
llvm::ArrayRef<Operator> activationOperators();
llvm::ArrayRef<Operator> windowOperators();
llvm::ArrayRef<Operator> batchNormOperators();
llvm::ArrayRef<Operator> shapeOperators();
llvm::ArrayRef<Operator> reductionOperators();
llvm::ArrayRef<Operator> indexingOperators();
llvm::ArrayRef<Operator> logicOperators();
llvm::ArrayRef<Operator> transformerOperators();
llvm::ArrayRef<Operator> rankingOperators();
llvm::ArrayRef<Operator> einsumOperators();
llvm::ArrayRef<Operator> recurrentOperators();
llvm::ArrayRef<Operator> attentionOperators();
llvm::ArrayRef<Operator> normOperators();
llvm::ArrayRef<Operator> lossOperators();
llvm::ArrayRef<Operator> resizeOperators();
llvm::ArrayRef<Operator> sequenceOperators();
llvm::ArrayRef<Operator> alongAxisOperators();
llvm::ArrayRef<Operator> rearrangingOperators();
llvm::ArrayRef<Operator> controlFlowOperators();
llvm::ArrayRef<Operator> slicingOperators();
llvm::ArrayRef<Operator> paddingOperators();
llvm::ArrayRef<Operator> quantizationOperators();
llvm::ArrayRef<Operator> gridSampleOperators();
llvm::ArrayRef<Operator> spectrumOperators();
llvm::ArrayRef<Operator> linearAttentionOperators();
llvm::ArrayRef<Operator> unpoolOperators();
llvm::ArrayRef<Operator> regionOperators();
llvm::ArrayRef<Operator> deformConvOperators();
llvm::ArrayRef<Operator> determinantOperators();

/// Imports the nodes of a graph. What is wrong with some is gathered in
/// `importer.problems`, without what only follows from it.
void addNodes(const ::onnx::GraphProto &graph, int64_t opset,
              Importer &importer);

/// The op of this type (`Gemm`, `com.acme::Fancy`), or null.
const Operator *findOperator(llvm::StringRef type);

/// All ops, by name.
std::vector<const Operator *> allOperators();

} // namespace gradus::onnx
