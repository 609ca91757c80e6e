// Converts JSON to text, and describes errors in JSON that was read.
//
// nlohmann's dump() throws if a string is not UTF-8, and paths need not be. It
// is called only here, so that no name makes printing or storing fail.
#pragma once

#include "runtime/names.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace gradus {

/// Whether JSON is nested deeper than anything that we write. Code that visits
/// JSON is recursive, and a file may come from anybody.
inline bool isTooDeep(std::string_view text) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool inString = false;
  for (size_t at = 0; at < text.size() && depth <= kDeepest; ++at) {
    char letter = text[at];
    inString ^= letter == '"';
    if (inString)
      at += letter == '\\';
    else
      depth +=
          (letter == '[' || letter == '{') - (letter == ']' || letter == '}');
  }
  return depth > kDeepest;
}

/// Parses JSON; null if it is invalid or too deep.
template <typename Json = nlohmann::json>
Json parsedJson(std::string_view text) {
  Json value = isTooDeep(text) ? Json()
                               : Json::parse(text, /*callback=*/nullptr,
                                             /*allow_exceptions=*/false);
  return value.is_discarded() ? Json() : value;
}

/// Whether all strings of a value, including keys, are UTF-8.
template <typename Json> bool isUtf8Json(const Json &value) {
  if (value.is_string())
    return runtime::isUtf8(value.template get_ref<const std::string &>());
  if (value.is_structured())
    for (const auto &[key, each] : value.items())
      if (!runtime::isUtf8(key) || !isUtf8Json(each))
        return false;
  return true;
}

/// Replaces strings that are not UTF-8 by runtime::asUtf8() of them.
template <typename Json> Json utf8Json(const Json &value) {
  auto text = [](const std::string &bytes) {
    return runtime::isUtf8(bytes) ? bytes : runtime::asUtf8(bytes);
  };
  if (value.is_string())
    return text(value.template get_ref<const std::string &>());
  if (!value.is_structured())
    return value;
  Json result(value.type());
  for (const auto &[key, each] : value.items())
    if (value.is_object())
      result[text(key)] = utf8Json(each);
    else
      result.push_back(utf8Json(each));
  return result;
}

/// Writes a value as JSON: on one line, or with this indentation.
template <typename Json>
std::string jsonText(const Json &value, int indent = -1) {
  return isUtf8Json(value) ? value.dump(indent) : utf8Json(value).dump(indent);
}

/// Prints a value on a line of its own.
template <typename Json> void printJson(const Json &value) {
  std::puts(jsonText(value).c_str());
}

/// nlohmann's message about invalid JSON, without the name of its exception.
inline std::string wordsOf(const nlohmann::json::exception &error) {
  std::string words = error.what(); // "[json.exception.parse_error.101] ..."
  size_t bracket = words.find("] ");
  return bracket == std::string::npos ? words : words.substr(bracket + 2);
}

} // namespace gradus
