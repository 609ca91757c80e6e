// Paths of keys. Programs write an index in brackets, `groups[0].match`, and
// command lines between dots, `groups.0.match`.
#pragma once

#include <string>
#include <string_view>

namespace gradus {

/// The path with its indices between dots.
inline std::string withDots(std::string_view path) {
  std::string text;
  for (char c : path)
    if (c != ']')
      text += c == '[' ? '.' : c;
  return text;
}

} // namespace gradus
