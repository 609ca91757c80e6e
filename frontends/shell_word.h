// Words as a shell reads them. What is printed to be pasted into one may hold
// names of a file, and a file may come from anybody.
#pragma once

#include "frontends/printable.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus {

/// $'caf\xe9', as bash, zsh and ksh read what no terminal should be given.
inline std::string escapedForShell(std::string_view word) {
  std::string text = "$'";
  while (!word.empty()) {
    size_t length = printableLength(word);
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\x%02x",
                  static_cast<unsigned char>(word[0]));
    if (length == 0)
      text += escape;
    else if (word[0] == '\'' || word[0] == '\\')
      (text += '\\') += word[0];
    else
      text += word.substr(0, length);
    word.remove_prefix(length ? length : 1);
  }
  return text + "'";
}

/// A word in quotes, of which a shell changes nothing.
inline std::string quotedForShell(std::string_view word) {
  if (printable(word) != word)
    return escapedForShell(word);
  std::string text = "'";
  for (char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

/// A word, in quotes where a shell would change it.
inline std::string shellWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./"
      "-";
  bool isPlain = !word.empty() && word.find_first_not_of(kPlain) == word.npos;
  return isPlain ? std::string(word) : quotedForShell(word);
}

} // namespace gradus
