// Limits the memory of an import's constants. A model of a few hundred bytes
// can ask for any number of elements.
#pragma once

#include "frontends/onnx/importer/constant.h"

#include <memory>
#include <stdexcept>

namespace gradus::onnx {

/// Thrown if a constant does not fit the rest of the budget. The node may be
/// built instead.
struct FoldingLimit : std::length_error {
  using std::length_error::length_error;
};

/// Counts the constants that its thread computes while it lives. The budget is
/// 8 MiB plus eight times the bytes that the model has stored, because an
/// element of a constant uses eight bytes.
class FoldingBudget {
public:
  explicit FoldingBudget(uint64_t storedBytes);
  ~FoldingBudget();
  FoldingBudget(const FoldingBudget &) = delete;
  FoldingBudget &operator=(const FoldingBudget &) = delete;

  /// Throws FoldingLimit if a constant of this shape exceeds the whole budget,
  /// used or not: temporary constants are freed again.
  static void check(llvm::ArrayRef<int64_t> shape);
  /// Whether this many elements of constants fit.
  bool fits(int64_t elements) const;

  /// Counts a constant as long as anything refers to it.
  std::shared_ptr<const Constant> keep(Constant constant);

private:
  const uint64_t limit_;
  /// The used budget; shared with constants, which may live longer.
  std::shared_ptr<uint64_t> taken_ = std::make_shared<uint64_t>(0);
  FoldingBudget *const outer_;
};

} // namespace gradus::onnx
