// Computes Levenshtein's distance, row by row.

#include "frontends/cli/suggestion.h"

#include "absl/strings/ascii.h"

#include <algorithm>
#include <numeric>

namespace gradus::cli {

/// The number of letters to insert, remove or change.
static size_t distance(const std::string &one, const std::string &other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= one.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= other.size(); ++j) {
      size_t changed = diagonal + (one[i - 1] != other[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string nearest(const std::string &word,
                    const std::vector<std::string> &known) {
  std::string best;
  std::pair least((word.size() + 1) / 2, size_t(0));
  for (const std::string &candidate : known)
    if (std::pair letters(distance(absl::AsciiStrToLower(word),
                                   absl::AsciiStrToLower(candidate)),
                          distance(word, candidate));
        letters < least) {
      least = letters;
      best = candidate;
    }
  return best;
}

std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known) {
  std::string best = nearest(word, known);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

} // namespace gradus::cli
