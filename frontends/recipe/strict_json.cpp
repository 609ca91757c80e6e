// Parses JSON without forgiving; see strict_json.h.

#include "frontends/recipe/strict_json.h"

#include "messages/json_text.h"
#include "messages/message.h"

#include <cstdlib>
#include <set>
#include <vector>

namespace gradus::recipe {

using Json = nlohmann::ordered_json;

namespace {

/// Refuses a key that stands twice in one object, of which JSON keeps the last
/// silently, and nesting that no recipe has.
class Guard {
public:
  bool operator()(int depth, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::object_start)
      open_.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open_.pop_back();
    else if (event == Json::parse_event_t::key &&
             !open_.back().insert(parsed.get<std::string>()).second)
      mistake = message("the key ", inQuotes(parsed.get<std::string>()),
                        " stands twice");
    if (depth > kDeepest)
      mistake = message("nested deeper than ", kDeepest, " levels");
    return depth <= kDeepest;
  }
  std::string mistake;

private:
  static constexpr int kDeepest = 32;
  std::vector<std::set<std::string>> open_;
};

} // namespace

std::string inQuotes(std::string_view text) {
  return message("\"", text, "\"");
}

/// A value as JSON, cut where it is long.
std::string shown(const Json &value) {
  std::string text = jsonText(value);
  return text.size() <= 100 ? text : text.substr(0, 100) + "...";
}

std::string vanishingNumber(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        at += text[at] == '\\';
      continue;
    }
    if (text[at] < '0' || text[at] > '9')
      continue;
    size_t end = text.find_first_not_of("0123456789.eE+-", at);
    std::string number(text.substr(at, end - at));
    size_t digit = number.find_first_of("123456789");
    if (digit < number.find_first_of("eE") &&
        std::strtod(number.c_str(), nullptr) == 0)
      return number;
    at += number.size() - 1;
  }
  return "";
}

absl::StatusOr<Json> parseStrictly(std::string_view text) {
  if (std::string number = vanishingNumber(text); !number.empty())
    return invalid("the number ", number, " would be read as 0; write 0");
  try {
    Guard guard;
    Json result = Json::parse(
        text, [&](int depth, Json::parse_event_t event, Json &parsed) {
          return guard(depth, event, parsed);
        });
    if (!guard.mistake.empty())
      return invalid(guard.mistake);
    return result;
  } catch (const Json::exception &error) {
    return invalid(wordsOf(error));
  }
}

} // namespace gradus::recipe
