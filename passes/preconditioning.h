// Settings of preconditioning by layers' curvature: the recipe's
// `precondition`. What the method measures stands in passes/local/, what it
// makes of it in passes/methods/precondition.cpp.
#pragma once

#include "passes/refreshes.h"

namespace gradus {

struct PreconditionSettings {
  enum class Type { thor, kfac };
  enum class Kind { dense, convolution, embedding, layerNorm };
  /// A layer's bias keeps its gradient, or is the weight of one more input,
  /// which is always 1.
  enum class Bias { plain, joined };
  /// Gradients have been through nothing but the mean over batches, or through
  /// clipping, weight decay and centralization.
  enum class Placement { beforeClip, afterWeightDecay };

  Type type = {};
  recipe::Number damping; // lambda: its root is added to each factor
  RefreshSettings refresh;
  int64_t block = 0;            // the largest side of a block of a factor
  double decay = 0;             // of the mean of factors over time; 0: the last
  bool splitsByTrace = false;   // damping by the ratio of both sides' traces
  std::optional<double> klClip; // bound of a step's length in curvature
  Bias bias = {};
  std::vector<Kind> kinds; // of layers
  Placement placement = {};
  int64_t limit = 0;       // longer sides are left alone
  bool isPerSample = true; // else factors are those of MindSpore's ThorGpu

  bool has(Kind kind) const { return llvm::is_contained(kinds, kind); }
};

const recipe::Method<PreconditionSettings> &preconditioning();

/// Whether a layer norm of the graph reads the parameter as its scale or bias.
bool isOfLayerNorm(ParameterUpdate update);

/// An attribute of `gradus.factors`: the bias that joins the layer's weight;
/// the factor of its inputs has a row and a column more, behind the others.
constexpr llvm::StringLiteral kJoined = "gradus.joined";

/// Marks factors of a weight whose groups are equal parts of its inputs, and
/// not of its outputs.
constexpr llvm::StringLiteral kGroupedInputs = "gradus.grouped_inputs";

/// Marks updates whose gradient was preconditioned.
constexpr llvm::StringLiteral kPreconditioned = "gradus.preconditioned";

} // namespace gradus
