// Folds are functions of constants without access to the import, so the budget
// belongs to the thread.

#include "frontends/onnx/importer/folding_budget.h"

#include "frontends/onnx/file/size_limits.h"
#include "messages/message.h"

#include <algorithm>
#include <utility>

namespace gradus::onnx {

static thread_local FoldingBudget *current = nullptr;

static constexpr uint64_t kBytesOfElement = sizeof(double);
static constexpr uint64_t kLeast = uint64_t(8) << 20;
/// An upper limit, for files that only claim to be large.
static constexpr uint64_t kMost = uint64_t(4) << 30;

FoldingBudget::FoldingBudget(uint64_t storedBytes)
    : limit_(kLeast +
             kBytesOfElement * std::min(storedBytes, kMost / kBytesOfElement)),
      outer_(std::exchange(current, this)) {}

FoldingBudget::~FoldingBudget() { current = outer_; }

/// Constants as small as a shape always fit, so that large ones do not prevent
/// shape arithmetic.
bool FoldingBudget::fits(int64_t elements) const {
  constexpr int64_t kSmall = 256;
  uint64_t left = limit_ - std::min(limit_, *taken_);
  return elements <= kSmall || uint64_t(elements) <= left / kBytesOfElement;
}

static std::string wordsOf(llvm::ArrayRef<int64_t> shape) {
  return message("makes a constant of shape [", joined(shape, ", "), "]");
}

static std::string wordsOf(llvm::ArrayRef<int64_t> shape, uint64_t limit) {
  return message(wordsOf(shape),
                 "; the constants that are computed of a model of this size "
                 "may take ",
                 limit >> 20, " MiB in all");
}

void FoldingBudget::check(llvm::ArrayRef<int64_t> shape) {
  if (!isWithin(shape, kMostFolded))
    throw FoldingLimit(wordsOf(shape));
  uint64_t elements = llvm::product_of(shape);
  if (current && elements > current->limit_ / kBytesOfElement)
    throw FoldingLimit(wordsOf(shape, current->limit_));
}

std::shared_ptr<const Constant> FoldingBudget::keep(Constant constant) {
  if (!fits(constant.tensor.size()))
    throw FoldingLimit(wordsOf(constant.tensor.shape, limit_));
  uint64_t bytes = kBytesOfElement * constant.tensor.size();
  *taken_ += bytes;
  return {new Constant(std::move(constant)),
          [taken = taken_, bytes](const Constant *kept) {
            *taken -= bytes;
            delete kept;
          }};
}

} // namespace gradus::onnx
