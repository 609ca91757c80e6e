// Names as text: the names that states, inputs and outputs may have, and bytes
// that are not text, such as a file's name in Latin-1, written as text.
//
// JSON, .safetensors files and artifacts hold only UTF-8; other bytes would be
// read back as another name.

#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus::runtime {

/// The number of bytes of the character at the start of `text`, which is not
/// empty; 0 if it is not UTF-8 (Unicode 15, table 3-7: no overlong forms, no
/// surrogates).
inline size_t characterBytes(std::string_view text) {
  auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  unsigned first = byte(0);
  if (first < 0x80)
    return 1;
  if (first < 0xC2 || first > 0xF4)
    return 0;
  size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  unsigned least = first == 0xE0   ? 0xA0
                   : first == 0xF0 ? 0x90
                                   : 0x80,
           most = first == 0xED   ? 0x9F
                  : first == 0xF4 ? 0x8F
                                  : 0xBF;
  if (byte(1) < least || byte(1) > most)
    return 0;
  for (size_t i = 2; i < size; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF)
      return 0;
  return size;
}

inline bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t size = characterBytes(text);
    if (size == 0)
      return false;
    text.remove_prefix(size);
  }
  return true;
}

/// Whether `text` begins with a byte as asUtf8() writes it: \xE9.
inline bool beginsAsByte(std::string_view text) {
  auto isDigit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
  };
  return text.size() >= 4 && text.starts_with("\\x") && isDigit(text[2]) &&
         isDigit(text[3]);
}

/// Converts bytes to UTF-8, different bytes to different text: a byte that is
/// not UTF-8 becomes \xE9, and a backslash that would read so becomes \x5C.
inline std::string asUtf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    size_t size = characterBytes(bytes);
    if (size != 0 && !beginsAsByte(bytes)) {
      text.append(bytes.substr(0, size));
    } else {
      char digits[5];
      std::snprintf(digits, sizeof(digits), "\\x%02X",
                    static_cast<unsigned char>(bytes[0]));
      text += digits;
      size = 1;
    }
    bytes.remove_prefix(size);
  }
  return text;
}

/// The key of the metadata in .safetensors files.
constexpr std::string_view kMetadataName = "__metadata__";

/// The reason why files cannot hold a text: "is not UTF-8"; empty if they can.
inline std::string_view textProblem(std::string_view text) {
  return isUtf8(text) ? "" : "is not UTF-8";
}

/// The reason why a tensor cannot have a name; empty if it can.
inline std::string_view nameProblem(std::string_view name) {
  return name == kMetadataName
             ? "is the one that .safetensors files keep for themselves"
             : textProblem(name);
}

} // namespace gradus::runtime
