// Divides parameters; see parts.h.

#include "passes/distribution/parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace llvm;

std::vector<int64_t> gradus::partsByBytes(ArrayRef<int64_t> bytes,
                                          int64_t parts) {
  auto order = to_vector(seq<size_t>(0, bytes.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
  });
  std::vector<int64_t> filled(static_cast<size_t>(parts)), part(bytes.size());
  for (size_t item : order) {
    auto smallest = std::ranges::min_element(filled);
    *smallest += bytes[item];
    part[item] = smallest - filled.begin();
  }
  return part;
}

std::vector<int64_t> gradus::partsByElements(ArrayRef<int64_t> elements,
                                             int64_t most) {
  std::vector<int64_t> part(elements.size());
  SmallVector<size_t> open;
  int64_t closed = 0, filled = 0;
  auto close = [&] {
    for (size_t item : open)
      part[item] = closed;
    closed += open.empty() ? 0 : 1;
    open.clear();
    filled = 0;
  };
  for (auto [item, count] : enumerate(elements)) {
    if (count > most) {
      part[item] = closed++;
      continue;
    }
    open.push_back(item);
    filled += count;
    if (filled > most)
      close();
  }
  close();
  return part;
}
