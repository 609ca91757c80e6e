// Counts by bits in one fast loop, since a model may have gigabytes of values.

#include "frontends/onnx/file/non_finite.h"

#include "ir/evaluator/values_in_place.h"
#include "messages/message.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cstring>

namespace gradus::onnx {
namespace {

struct Count {
  int64_t nan = 0, infinite = 0;
};

/// `infinity` has the bits of infinity; those of every NaN are larger.
template <typename Word>
Count countIn(llvm::ArrayRef<char> bytes, Word infinity) {
  Count count;
  const Word magnitude = Word(~Word(0)) >> 1;
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof(Word));
    word &= magnitude;
    count.nan += word > infinity;
    count.infinite += word == infinity;
  }
  return count;
}

Count countIn(mlir::Type element, llvm::ArrayRef<char> bytes) {
  if (element.isF64())
    return countIn<uint64_t>(bytes, uint64_t(0x7ff) << 52);
  if (element.isF32())
    return countIn<uint32_t>(bytes, uint32_t(0xff) << 23);
  if (element.isF16())
    return countIn<uint16_t>(bytes, 0x1f << 10);
  if (element.isBF16())
    return countIn<uint16_t>(bytes, 0xff << 7);
  return {};
}

} // namespace

std::string nonFiniteIn(mlir::ElementsAttr elements, bool tellsInfinite) {
  Count count = countIn(elements.getElementType(), bytesOfValues(elements));
  if (elements.isSplat()) { // stored once
    count.nan *= elements.getNumElements();
    count.infinite *= elements.getNumElements();
  }
  if (!tellsInfinite)
    count.infinite = 0;
  if (!count.nan && !count.infinite)
    return "";
  std::string words = count.nan ? message(count.nan, " NaN") : "";
  if (count.infinite)
    words += message(words.empty() ? "" : " and ", count.infinite, " infinite");
  return message(words, " of its ", elements.getNumElements(), " values");
}

} // namespace gradus::onnx
