// The table of ONNX ops: the import and the constant folding of each.
#pragma once

#include "frontends/onnx/file/well_formed.h"
#include "frontends/onnx/importer/importer.h"

#include <limits>

namespace gradus::onnx {

/// The inputs of a folded node; null for one that is left out.
using Constants = llvm::ArrayRef<const Constant *>;

/// An attribute whose value Gradus has no use for, so that no handler reads it.
struct Ignored {
  const char *attribute;
  const char *reason; // in words for users
};

/// The reason to ignore a `seed`: ONNX names no generator that it could start.
inline constexpr const char *kWhySeed = "the recipe's is taken";
/// The reason to ignore attributes of conversions to floats of 8 bits.
inline constexpr const char *kWhyNarrow =
    "it is for floats of 8 bits, which are refused";

/// The documentation of an op's support (docs/reference/onnx_operators.md),
/// which tests verify.
struct Support {
  /// The first opset that has the op in a form that we support.
  int64_t since;
  /// The inputs that pass gradients on, by their names in ONNX: "X, W, B".
  const char *gradient = "";
  /// Unsupported forms, in words.
  const char *refused = "";
  /// Refuses attributes of a node; called before all else, also with unknown
  /// inputs.
  absl::Status (*judge)(const Node &) = nullptr;
  /// Advice if inputs of an op that needs constants are computed, in words.
  const char *wayOut = "";
  /// Attributes that may have any value; of all others that nothing reads the
  /// import takes ONNX's defaults alone.
  llvm::ArrayRef<Ignored> ignored = {};
};

struct Operator {
  const char *name;
  Support support;
  /// Builds the node's ops; null: the op is only supported on constants.
  absl::Status (*build)(Importer &, const Node &);
  /// Computes the first output from constants; null: the reference evaluator
  /// folds the ops of `build`.
  absl::StatusOr<Constant> (*fold)(const Node &, Constants) = nullptr;
  /// False for ops that make sequences, which are not constants.
  bool foldsByEvaluation = true;
  /// The first input of which only the type matters.
  int firstTypeInput = std::numeric_limits<int>::max();
  /// Whether a node of constants is built all the same; null: none is.
  bool (*isKept)(const Importer &, const Node &) = nullptr;
  /// Whether inputs may be empty; `findOperator` sets it by family.
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
llvm::ArrayRef<Operator> castOperators();
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

/// Imports the nodes of a graph. Collects errors in `importer.problems`, except
/// those that only follow from others.
void addNodes(const ::onnx::GraphProto &graph, int64_t opset,
              Importer &importer);

/// Finds the op of this type (`Gemm`, `com.acme::Fancy`); null if unknown.
const Operator *findOperator(llvm::StringRef type);

/// All ops, sorted by name.
std::vector<const Operator *> allOperators();

} // namespace gradus::onnx
