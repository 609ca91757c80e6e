// Matches patterns with names; see patterns.h.

#include "recipe/patterns.h"

#include <algorithm>

namespace gradus {

/// Each `*` takes as little as lets the text up to the next one follow: if that
/// fails, taking more of an earlier one would not help.
bool matchesPattern(std::string_view pattern, std::string_view name) {
  size_t at = 0, read = 0;
  size_t star = pattern.npos, taken = 0; // the last `*`, and where it ends
  while (read < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = read;
    } else if (at < pattern.size() && pattern[at] == name[read]) {
      ++at;
      ++read;
    } else if (star != pattern.npos) {
      at = star + 1;
      read = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == pattern.npos;
}

bool NamePatterns::match(std::string_view name) const {
  return std::ranges::any_of(patterns_, [&](const std::string &pattern) {
    return matchesPattern(pattern, name);
  });
}

} // namespace gradus
