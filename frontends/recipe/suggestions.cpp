// Suggestions for recipes; see suggestions.h.

#include "frontends/recipe/suggestions.h"

#include "frontends/recipe/strict_json.h"
#include "messages/message.h"
#include "passes/pass_plugin.h"
#include "recipe/nearest.h"
#include "recipe/synonyms.h"

#include <algorithm>

namespace gradus::recipe {
namespace {

std::string_view firstOf(std::string_view path) {
  return path.substr(0, path.find('.'));
}

std::string_view lastOf(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

std::string asked(std::string_view what) {
  return message("; did you mean ", what, "?");
}

std::string nearestOf(std::string_view word, const Names &known) {
  if (std::string_view meant = nearest(word, known); !meant.empty())
    return asked(inQuotes(meant));
  return known.empty() ? "" : message("; known: ", joined(known, ", "));
}

/// A value of a synonym as the recipe's text has it.
std::string asJson(std::string_view value) {
  return nlohmann::json::accept(value) ? std::string(value) : inQuotes(value);
}

/// Asks whether a key was meant, and says how its number is another one.
std::string askedFor(std::string_view key, const Synonym &synonym) {
  std::string_view value = convertedValue(synonym.word);
  return asked(inQuotes(key)) +
         (value.empty() ? "" : message(" It is ", value));
}

/// The key of a synonym. The optimizer thor has the keys of `precondition`.
std::string keyOf(const Synonym &synonym, bool hasThor) {
  constexpr std::string_view object = "precondition.";
  std::string_view key = synonym.key();
  return hasThor && key.starts_with(object)
             ? message("optimizer.", key.substr(object.size()))
             : std::string(key);
}

/// Says what a word means elsewhere than in the object where it stands.
std::string elsewhere(const Synonym &synonym, bool hasThor = false) {
  if (synonym.isOption())
    return message("; it is an option: gradus ", synonym.meaning);
  if (synonym.meaning == synonym.word) // one of our own
    return asked(message("the recipe's ", inQuotes(synonym.key())));
  if (synonym.value().empty())
    return askedFor(keyOf(synonym, hasThor), synonym);
  return asked(message(inQuotes(synonym.key()), ": ", asJson(synonym.value())));
}

/// `"optimizer": {"learning_rate": ...}` of `optimizer.learning_rate`.
std::string nested(std::string_view path) {
  size_t dot = path.find('.');
  if (dot == path.npos)
    return message(inQuotes(path), ": ...");
  return message(inQuotes(path.substr(0, dot)), ": {",
                 nested(path.substr(dot + 1)), "}");
}

/// The keys from an object down to one; empty where that is not in an object
/// within it.
std::string_view within(std::string_view path, std::string_view key) {
  bool isWithin = !path.empty() && key.size() > path.size() &&
                  key.starts_with(path) && key[path.size()] == '.';
  std::string_view rest = isWithin ? key.substr(path.size() + 1) : "";
  return firstOf(rest) == rest ? "" : rest;
}

/// Returns why there is nothing to say for a word, or else other words.
std::string nothingOr(std::string others, std::string_view word) {
  std::string_view why = whyNeedless(word);
  return why.empty() ? others : message("; ", why);
}

/// Whether a synonym is a value of one of the recipe's own keys: an optimizer
/// `lookahead` is the key of that name.
bool isValueOfOwnKey(const Synonym &synonym) {
  return !synonym.value().empty() &&
         synonym.key().find('.') == std::string_view::npos;
}

/// Whether a value, `mse` or `[{"type": "cosine"}]`, is one with this name.
bool names(std::string_view value, std::string_view name) {
  return value == name ||
         value.find(message("\"type\": ", inQuotes(name))) != value.npos ||
         value == message("[", inQuotes(name), "]");
}

} // namespace

std::string suggestionForKey(std::string_view path, std::string_view word,
                             const Names &known, bool hasThor) {
  auto isKnown = [&](std::string_view key) {
    return std::ranges::count(known, key) != 0;
  };
  if (path.empty())
    for (const PluginKey &key : pluginKeys())
      if (word == key.field.key)
        return asked(inQuotes(message(kPluginsKey, ".", word)));
  if (firstOf(word) != word && isKnown(firstOf(word)))
    return message("; write ", nested(word));
  const std::vector<Synonym> synonyms = synonymsOf(word);
  for (const Synonym &synonym : synonyms)
    if (synonym.value().empty() && isKnown(lastOf(synonym.key())))
      return askedFor(lastOf(synonym.key()), synonym);
  for (const Synonym &synonym : synonyms) {
    const std::string key = keyOf(synonym, hasThor);
    std::string_view keys = synonym.value().empty() ? within(path, key) : "";
    if (!keys.empty() && isKnown(firstOf(keys)))
      return message("; write ", nested(keys));
  }
  // An object may have a key of the recipe, with a value of another form.
  for (const Synonym &synonym : synonyms)
    if (!path.empty() && !synonym.value().empty() && isKnown(synonym.key()))
      return asked(inQuotes(synonym.key()));
  // A type that lacks what others have is not led to another object.
  bool isElsewhere = std::ranges::none_of(synonyms, [&](const Synonym &each) {
    return firstOf(each.key()) == firstOf(path);
  });
  if (isElsewhere && !synonyms.empty())
    return elsewhere(synonyms.front(), hasThor);
  return nothingOr(nearestOf(word, known), word);
}

std::string suggestionForValue(std::string_view word, const Names &known) {
  for (const Synonym &synonym : synonymsOf(word))
    for (std::string_view name : known)
      if (names(synonym.value(), name))
        return asked(inQuotes(name));
  if (std::string_view meant = nearest(word, known); !meant.empty())
    return asked(inQuotes(meant));
  for (const Synonym &synonym : synonymsOf(word))
    if (synonym.isOption() || isValueOfOwnKey(synonym))
      return elsewhere(synonym);
  return nothingOr(nearestOf(word, known), word);
}

} // namespace gradus::recipe
