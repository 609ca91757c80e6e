// Quotes words for a shell. Commands that are printed to be pasted may contain
// names from a file, and a file may come from anybody.
#pragma once

#include "messages/printable.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus {

/// Writes $'caf\xe9', which bash, zsh and ksh read, for bytes that a terminal
/// should not get.
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

/// Quotes a word so that a shell does not change it.
inline std::string quotedForShell(std::string_view word) {
  if (printable(word) != word)
    return escapedForShell(word);
  std::string text = "'";
  for (char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

/// Quotes a word only if a shell would change it.
inline std::string shellWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./"
      "-";
  bool isPlain = !word.empty() && word.find_first_not_of(kPlain) == word.npos;
  return isPlain ? std::string(word) : quotedForShell(word);
}

} // namespace gradus
