// Text for a terminal. Names come from files, and a file may come from anybody:
// what it calls a tensor must not move the cursor or look like another line.
#pragma once

#include "runtime/names.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus {

/// Whether a character of several bytes is one that a terminal obeys: C1, line
/// separators, and what turns the direction of the text around it.
inline bool isOrder(std::string_view character) {
  auto isFrom = [&](std::string_view first, std::string_view last) {
    return character >= first && character <= last;
  };
  return isFrom("\xc2\x80", "\xc2\x9f") ||         // C1
         isFrom("\xe2\x80\xa8", "\xe2\x80\xae") || // separators, turns
         isFrom("\xe2\x81\xa6", "\xe2\x81\xa9");   // turns
}

/// How many bytes the UTF-8 character at the front has; 0 where it is none, or
/// one that a terminal obeys.
inline size_t printableLength(std::string_view text) {
  size_t size = runtime::characterBytes(text);
  auto first = static_cast<unsigned char>(text[0]);
  bool obeyed =
      size == 1 ? first < 0x20 || first == 0x7f : isOrder(text.substr(0, size));
  return obeyed ? 0 : size;
}

/// The text with such characters written out, as "\n" and "\x1b"; `kept` stay.
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

/// The same of words that may have several lines, of which all but the first
/// are indented by two spaces: a name in them cannot begin a line of its own.
inline std::string printableLines(std::string_view text) {
  std::string out;
  for (size_t end; (end = text.find("\n  ")) != text.npos;) {
    out += printable(text.substr(0, end), "\t") + "\n";
    text.remove_prefix(end + 1);
  }
  return out + printable(text, "\t");
}

} // namespace gradus
