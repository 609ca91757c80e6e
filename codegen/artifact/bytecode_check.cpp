// The format is in MLIR's documentation, "MLIR Bytecode Format".

#include "codegen/artifact/bytecode_check.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstdint>
#include <optional>

using namespace gradus;

namespace {

enum SectionId : char {
  attributeOffsets = 3,
  resources = 5,
  resourceOffsets = 6
};

/// The numbers of bytecode in their order; nothing behind the end.
class Numbers {
public:
  explicit Numbers(llvm::ArrayRef<char> rest) : rest_(rest) {}

  bool isAtEnd() const { return rest_.empty(); }

  std::optional<llvm::ArrayRef<char>> bytes(uint64_t count) {
    if (count > rest_.size())
      return std::nullopt;
    llvm::ArrayRef<char> taken = rest_.take_front(count);
    rest_ = rest_.drop_front(count);
    return taken;
  }

  /// The zeros at the end of the first byte count the bytes behind it.
  std::optional<uint64_t> next() {
    if (rest_.empty())
      return std::nullopt;
    auto first = static_cast<uint8_t>(rest_.front());
    size_t more = first ? llvm::countr_zero(first) : 8;
    auto all = bytes(more + 1);
    if (!all)
      return std::nullopt;
    uint64_t value = 0;
    for (size_t i = std::min<size_t>(more, 7) + 1; i > 0; --i)
      value = value << 8 | static_cast<uint8_t>((*all)[more == 8 ? i : i - 1]);
    return more == 8 ? value : value >> (more + 1);
  }

  /// Leaves out a text that ends with a zero.
  bool skipText() {
    auto end = std::find(rest_.begin(), rest_.end(), 0);
    if (end == rest_.end())
      return false;
    rest_ = rest_.drop_front(end - rest_.begin() + 1);
    return true;
  }

private:
  llvm::ArrayRef<char> rest_;
};

} // namespace

/// Reads groups, each with a dialect and the sizes of its entries, until there
/// are `count` entries.
static bool haveEntries(Numbers &numbers, uint64_t count) {
  while (count > 0) {
    auto dialect = numbers.next();
    auto entries = numbers.next();
    if (!dialect || !entries || *entries > count)
      return false;
    count -= *entries;
    for (uint64_t i = 0; i < *entries; ++i)
      if (!numbers.next())
        return false;
  }
  return true;
}

static bool isSoundOffsets(llvm::ArrayRef<char> section) {
  Numbers numbers(section);
  auto attributes = numbers.next();
  auto types = numbers.next();
  return attributes && types && *attributes <= section.size() &&
         *types <= section.size() && haveEntries(numbers, *attributes) &&
         haveEntries(numbers, *types);
}

/// Whether a section is sound: there are no resources, and their offsets are a
/// count of 0.
static bool isSound(char id, llvm::ArrayRef<char> section) {
  switch (id) {
  case SectionId::attributeOffsets:
    return isSoundOffsets(section);
  case SectionId::resources:
    return section.empty();
  case SectionId::resourceOffsets:
    return section.size() == 1;
  default:
    return true;
  }
}

bool gradus::isSoundBytecode(llvm::ArrayRef<char> bytes) {
  Numbers numbers(bytes);
  auto magic = numbers.bytes(4);
  if (!magic || llvm::StringRef(magic->data(), 4) != "ML\xefR" ||
      !numbers.next() || !numbers.skipText())
    return false;
  while (!numbers.isAtEnd()) {
    auto id = numbers.bytes(1);
    auto size = numbers.next();
    auto section = size ? numbers.bytes(*size) : std::nullopt;
    // The highest bit says that zeros follow, which are in front of resources.
    if (!section || id->front() < 0 || !isSound(id->front(), *section))
      return false;
  }
  return true;
}
