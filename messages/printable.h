// Makes text safe for a terminal. Names come from files, and a file may come
// from anybody: the name of a tensor must not move the cursor or look like
// another line.
#pragma once

#include "runtime/names.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus {

/// Whether a multibyte character controls the terminal: C1, line separators,
/// and characters that change the direction of the text.
inline bool isOrder(std::string_view character) {
  auto isFrom = [&](std::string_view first, std::string_view last) {
    return character >= first && character <= last;
  };
  return isFrom("\xc2\x80", "\xc2\x9f") ||         // C1
         isFrom("\xe2\x80\xa8", "\xe2\x80\xae") || // separators, direction
         isFrom("\xe2\x81\xa6", "\xe2\x81\xa9");   // direction
}

/// The number of bytes of the first UTF-8 character; 0 if it is invalid or
/// controls the terminal.
inline size_t printableLength(std::string_view text) {
  size_t size = runtime::characterBytes(text);
  auto first = static_cast<unsigned char>(text[0]);
  bool obeyed =
      size == 1 ? first < 0x20 || first == 0x7f : isOrder(text.substr(0, size));
  return obeyed ? 0 : size;
}

/// Escapes such characters in a text, as "\n" and "\x1b"; those in `kept` stay.
inline std::string printable(std::string_view text,
                             std::string_view kept = "") {
  std::string out;
  while (!text.empty()) {
    size_t length = printableLength(text);
    char escape[8] = "\\n";
    if (!length && text[0] != '\n')
      std::snprintf(escape, sizeof(escape), "\\x%02x",
                    static_cast<unsigned char>(text[0]));
    if (!length && kept.find(text[0]) == kept.npos)
      out += escape;
    else
      out += text.substr(0, length ? length : 1);
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

/// Escapes a message of several lines and indents all but the first by two
/// spaces, so that no name in it looks like a line of its own.
inline std::string printableLines(std::string_view text) {
  std::string out;
  for (size_t end; (end = text.find("\n  ")) != text.npos;) {
    out += printable(text.substr(0, end), "\t") + "\n";
    text.remove_prefix(end + 1);
  }
  return out + printable(text, "\t");
}

} // namespace gradus
