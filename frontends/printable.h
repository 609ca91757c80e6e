// Text for a terminal. Names come from files, and a file may come from anybody:
// what it calls a tensor must not move the cursor or look like another line.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus {

/// How many bytes the UTF-8 character at the front has; 0 where it is none, or
/// one that a terminal obeys (below U+00A0 and no letter, digit or sign).
inline size_t printableLength(std::string_view text) {
  auto byte = [&](size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  };
  auto follows = [&](size_t at) { return (byte(at) & 0xc0) == 0x80; };
  unsigned first = byte(0);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f;
  if (first >= 0xc2 && first <= 0xdf)
    return follows(1) && (first > 0xc2 || byte(1) >= 0xa0) ? 2 : 0;
  if ((first & 0xf0) == 0xe0)
    return follows(1) && follows(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  return 0;
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

/// The same of words that may have several lines.
inline std::string printableLines(std::string_view text) {
  return printable(text, "\n\t");
}

} // namespace gradus
