// Patterns of names, as recipes and command lines write them: `*` stands for
// any text, and every other character for itself. So each name can be written
// as it is: `params['dense'].w`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus {

/// Whether the pattern stands for the whole name.
bool matchesPattern(std::string_view pattern, std::string_view name);

/// Whether a pattern may stand for other names than its own text.
inline bool isOpenPattern(std::string_view pattern) {
  return pattern.find('*') != pattern.npos;
}

/// A list of patterns, such as the recipe's `trainable`.
class NamePatterns {
public:
  NamePatterns() = default;
  template <typename Texts>
  explicit NamePatterns(const Texts &texts)
      : patterns_(texts.begin(), texts.end()) {}

  /// Whether one of the patterns stands for the name.
  bool match(std::string_view name) const;
  const std::vector<std::string> &texts() const { return patterns_; }

private:
  std::vector<std::string> patterns_;
};

} // namespace gradus
