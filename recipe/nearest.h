// Finds the known names that are most like an unknown word, for errors that
// suggest one. It needs the standard library alone, so that the
// tool's run side, which has no LLVM, suggests by the same rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus {

/// Levenshtein's distance: how many letters must be inserted, left out or
/// changed to make `one` the `other`, letters compared by `equal`.
template <typename Equal>
size_t editDistance(std::string_view one, std::string_view other, Equal equal) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < other.size(); ++j) {
      size_t changed = diagonal + !equal(one[i], other[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j + 1] + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// The letters to put right: whatever their case, then as they are. The smaller
/// pair is the nearer name.
inline std::pair<size_t, size_t> likeness(std::string_view word,
                                          std::string_view name) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  return {editDistance(word, name,
                       [&](char a, char b) { return lower(a) == lower(b); }),
          editDistance(word, name, std::equal_to<char>())};
}

/// The names, nearest first; equally near ones as they stand. The views are of
/// the range's strings.
template <typename Names>
std::vector<std::string_view> byLikeness(std::string_view word,
                                         const Names &names) {
  std::vector<std::pair<std::pair<size_t, size_t>, std::string_view>> measured;
  for (const auto &name : names) // Once each: there may be thousands.
    measured.emplace_back(likeness(word, name), name);
  std::stable_sort(
      measured.begin(), measured.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::string_view> sorted;
  for (const auto &[letters, name] : measured)
    sorted.push_back(name);
  return sorted;
}

/// The first of the nearest names; "" where all take more than about half of
/// the word's letters.
template <typename Names>
std::string_view nearest(std::string_view word, const Names &names) {
  std::pair<size_t, size_t> smallest(1 + word.size() / 2, 0);
  std::string_view best;
  for (const auto &name : names)
    if (auto letters = likeness(word, name); letters < smallest) {
      smallest = letters;
      best = name;
    }
  return best;
}

/// The names that are most like a pattern, nearest first: "fc1.weight, fc1.bias
/// and 54 more".
template <typename Names>
std::string nearestNames(std::string_view pattern, const Names &names) {
  constexpr size_t kFew = 6;
  std::vector<std::string_view> sorted = byLikeness(pattern, names);
  std::string text;
  for (size_t i = 0; i < std::min(kFew, sorted.size()); ++i)
    text.append(i ? ", " : "").append(sorted[i]);
  if (sorted.size() > kFew)
    text += " and " + std::to_string(sorted.size() - kFew) + " more";
  return text;
}

} // namespace gradus
