// Settings of training in a subspace: the recipe's `dim_reduce`.
#pragma once

#include "recipe/settings.h"

#include <optional>
#include <string>

namespace gradus {

struct DimReduceSettings {
  std::optional<std::string> basis;  // a file of `gradus basis`
  std::optional<int64_t> components; // the first ones; nothing: all
  recipe::Number contraction;        // of the second trial's step
  recipe::Number decrease;           // part of the predicted one
  bool isDealt = false;              // among the ranks
};

const recipe::Method<DimReduceSettings> &dimReduction();

/// The state with the rows of the basis that belong to a parameter,
/// [components, shape of the parameter], which are fixed.
constexpr llvm::StringLiteral kBasis = "dim_reduce/basis/";

} // namespace gradus
