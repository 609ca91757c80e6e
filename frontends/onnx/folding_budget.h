// How much memory the constants of one import may take. A few hundred bytes of
// a model can name as many elements as they like.
#pragma once

#include "frontends/onnx/constant.h"

#include <memory>
#include <stdexcept>

namespace gradus::onnx {

/// A constant does not fit what is left. Its node may be built instead.
struct FoldingLimit : std::length_error {
  using std::length_error::length_error;
};

/// While this lives, the constants that its thread computes are counted: 8 MiB
/// and eight times what the model has stored, as a constant takes eight bytes
/// for an element of one.
class FoldingBudget {
public:
  explicit FoldingBudget(uint64_t storedBytes);
  ~FoldingBudget();
  FoldingBudget(const FoldingBudget &) = delete;
  FoldingBudget &operator=(const FoldingBudget &) = delete;

  /// Throws FoldingLimit where a constant of this shape is more than the whole
  /// budget, whatever is taken: one that is made along the way goes again.
  static void check(llvm::ArrayRef<int64_t> shape);
  /// Whether as many elements of constants fit.
  bool fits(int64_t elements) const;

  /// A constant that counts for as long as anything refers to it.
  std::shared_ptr<const Constant> keep(Constant constant);

private:
  const uint64_t limit_;
  /// What is taken; shared with the constants, which may live longer.
  std::shared_ptr<uint64_t> taken_ = std::make_shared<uint64_t>(0);
  FoldingBudget *const outer_;
};

} // namespace gradus::onnx
