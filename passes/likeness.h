// How near a name is to a word that is not known, for errors that say what may
// have been meant.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <utility>

namespace gradus {

/// Letters to put right: whatever their case, then as they are.
inline std::pair<unsigned, unsigned> likeness(llvm::StringRef word,
                                              llvm::StringRef name) {
  return {word.edit_distance_insensitive(name), word.edit_distance(name)};
}

/// The names, nearest first; equally near ones as they stand.
template <typename Names>
llvm::SmallVector<llvm::StringRef> byLikeness(llvm::StringRef word,
                                              const Names &names) {
  using Distance = std::pair<unsigned, unsigned>;
  llvm::SmallVector<std::pair<Distance, llvm::StringRef>> measured;
  for (llvm::StringRef name : names) // Once each: there may be thousands.
    measured.emplace_back(likeness(word, name), name);
  llvm::stable_sort(measured, llvm::less_first());
  return llvm::to_vector(llvm::make_second_range(measured));
}

/// The first of the nearest names; "" where all take more than about half of
/// the word's letters.
template <typename Names>
llvm::StringRef nearest(llvm::StringRef word, const Names &names) {
  std::pair<unsigned, unsigned> least(1 + word.size() / 2, 0);
  llvm::StringRef best;
  for (llvm::StringRef name : names)
    if (auto letters = likeness(word, name); letters < least) {
      least = letters;
      best = name;
    }
  return best;
}

} // namespace gradus
