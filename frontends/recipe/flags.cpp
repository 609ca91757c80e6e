// Flags of keys; see flags.h.

#include "frontends/recipe/flags.h"

#include "frontends/recipe/fields.h"
#include "messages/message.h"

#include <algorithm>
#include <cctype>

namespace gradus::recipe {
namespace {

std::string replaced(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

std::string nameOf(const Field &field) {
  return "--" + replaced(std::string(field.key), '_', '-');
}

//===-- help --------------------------------------------------------------===//

std::string choicesOf(const Field &field) {
  std::vector<std::string_view> names;
  for (const Choice &choice : field.choices)
    names.push_back(choice.name);
  return joined(names, "|");
}

/// The key that a value without a name is of; empty where there is none.
std::string_view unnamedKey(const Field &field) {
  return field.kind == Kind::variant ? "type" : field.shortForms.key;
}

bool standsAlone(const Field &field) {
  return field.shortForms.isSwitch && field.kind == Kind::object;
}

std::string formOf(const Field &field) {
  if (standsAlone(field))
    return "";
  if (field.kind == Kind::variant)
    return choicesOf(field) + "[,KEY=VALUE,...]";
  for (const Field &part : field.fields)
    if (part.key == field.shortForms.key)
      return choicesOf(part) + "[,KEY=VALUE,...]";
  return field.kind == Kind::choice ? choicesOf(field) : "VALUE";
}

std::string helpOf(const Field &field) {
  std::string help(field.help);
  help[0] = static_cast<char>(std::toupper(help[0]));
  std::vector<std::string_view> keys;
  for (const Field &part : field.fields)
    keys.push_back(part.key);
  return standsAlone(field)
             ? message(help, "; =KEY=VALUE,... sets its keys: ", joined(keys))
             : help;
}

//===-- values ------------------------------------------------------------===//

/// Splits at commas outside of brackets and quotes.
std::vector<std::string> partsOf(const std::string &value) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool isQuoted = false;
  for (char c : value) {
    isQuoted ^= c == '"';
    if (!isQuoted)
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c == ',' && depth == 0 && !isQuoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Whether a value is all of the key's, and not settings of keys in it.
bool isWhole(const Field &field, const std::string &value) {
  bool hasKeys = field.kind == Kind::object || field.kind == Kind::variant;
  bool isWord = value == "true" || value == "false" || value == "null";
  return !hasKeys || isWord || value.starts_with('{');
}

/// Converts one of several settings in a value: `total-steps=65536`, or the
/// first one without a name.
absl::StatusOr<std::string> settingOf(const Flagged &key,
                                      const std::string &part, bool isFirst) {
  size_t equals = part.find('=');
  std::string_view unnamed = unnamedKey(*key.field);
  if (equals == part.npos && isFirst && !unnamed.empty() && !part.empty())
    return message(key.path, ".", unnamed, "=", part);
  if (equals == 0 || equals == part.npos)
    return invalid("expected ", unnamed.empty() ? "" : "a value of `", unnamed,
                   unnamed.empty() ? "" : "` or ",
                   "KEY=VALUE, and more of them behind commas");
  return message(key.path, ".", replaced(part.substr(0, equals), '-', '_'),
                 part.substr(equals));
}

} // namespace

std::vector<Flag> flags() {
  std::vector<Flag> all;
  for (const auto &[field, path] : flaggedKeys())
    all.push_back({nameOf(*field), helpOf(*field), formOf(*field)});
  return all;
}

absl::StatusOr<Overrides> settingsOf(const std::string &flag,
                                     const std::string &value) {
  std::vector<Flagged> keys = flaggedKeys();
  auto key = std::ranges::find_if(
      keys, [&](const Flagged &each) { return nameOf(*each.field) == flag; });
  if (key == keys.end())
    return invalid(flag, ": no key of the recipe has this flag");
  if (value == "true" && standsAlone(*key->field))
    return Overrides{{key->path + "=true", flag}};
  if (value.empty())
    return invalid(flag, ": expected a value, ", formOf(*key->field));
  std::string origin = message(flag, "=", value);
  std::vector<std::string> parts = partsOf(value);
  bool isShort = parts.size() == 1 && value.find('=') == value.npos &&
                 !unnamedKey(*key->field).empty();
  if (isShort || isWhole(*key->field, value))
    return Overrides{{message(key->path, "=", value), origin}};
  Overrides settings;
  for (const std::string &part : parts) {
    auto setting = settingOf(*key, part, settings.empty());
    if (!setting.ok())
      return invalid(origin, ": ", setting.status().message());
    settings.emplace_back(*setting, origin);
  }
  return settings;
}

} // namespace gradus::recipe
