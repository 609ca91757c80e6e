// A number's state has the path of its key as its name.

#include "tool/session/set_numbers.h"

#include "messages/json_text.h"
#include "recipe/key_path.h"
#include "recipe/synonyms.h"
#include "tool/failure.h"
#include "tool/session/session_options.h"
#include "tool/suggestion.h"
#include "tool/text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstring>

using nlohmann::json;

namespace gradus::cli {
namespace {

using runtime::Session;
using runtime::StateInfo;

std::vector<std::string> numbersOf(const Session &session) {
  std::vector<std::string> names;
  for (const StateInfo &state : session.states())
    if (state.isNumber())
      names.push_back(state.name);
  return names;
}

double numberOf(const Session &session, const std::string &name) {
  double number = 0;
  check(session.readState(name, &number, sizeof(number)));
  return number;
}

json::json_pointer placeOf(const std::string &path) {
  std::string place;
  for (absl::string_view key : absl::StrSplit(withDots(path), '.'))
    absl::StrAppend(&place, "/",
                    absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
  return json::json_pointer(place);
}

/// The state of a number: its path with indices in brackets, however they are
/// given: `optimizer.betas[0]` of `optimizer.betas.0`.
std::string stateOf(const std::string &key) {
  std::string state;
  for (absl::string_view part : absl::StrSplit(withDots(key), '.')) {
    bool isIndex = !part.empty() &&
                   std::all_of(part.begin(), part.end(), absl::ascii_isdigit);
    if (isIndex)
      absl::StrAppend(&state, "[", part, "]");
    else
      absl::StrAppend(&state, state.empty() ? "" : ".", part);
  }
  return state;
}

/// "; did you mean 'optimizer.learning_rate'?" of `lr`, or the nearest name.
std::string meantBy(const std::string &key,
                    const std::vector<std::string> &names) {
  std::string last = key.substr(key.rfind('.') + 1);
  for (const Synonym &synonym : synonymsOf(last)) {
    std::string meant(synonym.key());
    for (const std::string &name : names)
      if (!synonym.isOption() &&
          (name == meant || name.starts_with(meant + "[")))
        return absl::StrCat("; did you mean '", meant, "'?");
  }
  return suggestion(key, names);
}

/// "the option --epochs of gradus train has it" of `epochs`; empty for words
/// that mean nothing but numbers.
std::string otherPlaceOf(const std::string &word) {
  std::vector<Synonym> synonyms = synonymsOf(word);
  if (std::any_of(synonyms.begin(), synonyms.end(),
                  [](const Synonym &each) { return each.isSettable(); }))
    return "";
  for (const Synonym &synonym : synonyms) {
    if (synonym.isOption())
      return absl::StrCat("the option ", std::string(synonym.option()),
                          " of gradus ", std::string(synonym.command()),
                          " has it");
    if (!synonym.isSettable() && synonym.key() != word)
      return absl::StrCat(
          "it is fixed when compiling: gradus compile --set ",
          std::string(synonym.key()), "=",
          synonym.value().empty() ? "..." : std::string(synonym.value()));
  }
  return "";
}

/// Why a key of the recipe, or another word, is no number that can be set.
std::string whyNot(const Session &session, const std::string &key) {
  json recipe = recipeOf(session), value = valueAt(recipe, key);
  std::string artifact = session.artifact().path();
  std::string method = key.substr(0, key.find('.'));
  if (recipe.value("settable", true) == false)
    return absl::StrCat(artifact, " was compiled with \"settable\": false, so "
                                  "its numbers are constants");
  bool isNested = method != key; // a seed of 0 switches nothing off
  if (std::string other = otherPlaceOf(key); !isNested && !other.empty())
    return other;
  if (isNested && value.is_number() && value == 0)
    return absl::StrCat(
        "it is 0 in ", artifact,
        ", and fixed when compiling, as "
        "what 0 switches off is left out: gradus compile --set ",
        withDots(key), "=...");
  if (recipe.contains(placeOf(key)) && (!isNested || !value.is_null()))
    return absl::StrCat("it is fixed when compiling: gradus compile --set ",
                        withDots(key), "=...");
  if (isNested && recipe.contains(method) &&
      (recipe[method].is_null() || recipe[method] == false))
    return absl::StrCat(artifact, " was compiled without ", method);
  std::vector<std::string> names = numbersOf(session);
  return absl::StrCat(artifact, " has no such number", meantBy(key, names),
                      "; it has ",
                      names.empty() ? "none" : absl::StrJoin(names, ", "));
}

void setNumber(Session &session, const std::string &setting,
               const std::string &key, const json &value) {
  std::string state = stateOf(key);
  if (!value.is_number())
    throw badInput("--set ", setting, ": expected a number, found ",
                   jsonText(value));
  double number = value;
  runtime::Status status = session.writeState(state, &number, sizeof(number));
  if (!status.ok())
    throw badInput("--set ", setting, ": ", status.message());
}

/// Whether a number, or each of a list, can be set under the key.
bool isNumber(const Session &session, const std::string &key) {
  for (const std::string &name : {stateOf(key), stateOf(key + ".0")})
    if (int state = session.findState(name);
        state >= 0 && session.states()[state].isNumber())
      return true;
  return false;
}

void set(Session &session, const std::string &setting) {
  auto [key, text] = std::pair<std::string, std::string>(
      absl::StrSplit(setting, absl::MaxSplits('=', 1)));
  if (!key.empty() && !isNumber(session, key))
    throw badInput("--set ", setting, ": ", whyNot(session, key));
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (key.empty() || value.is_discarded())
    throw badInput("--set ", setting,
                   ": expected KEY=NUMBER, such as "
                   "optimizer.learning_rate=0.001");
  if (value == 0 && text.find_first_of("123456789") < text.find_first_of("eE"))
    throw badInput("--set ", setting, ": the number ", text,
                   " would be read as 0; write 0");
  if (value.is_array() && value.empty())
    throw badInput("--set ", setting, ": the list is empty");
  if (!value.is_array())
    return setNumber(session, setting, key, value);
  for (size_t i = 0; i < value.size(); ++i) {
    std::string element = absl::StrCat(key, ".", i);
    if (!isNumber(session, element))
      throw badInput("--set ", setting, ": ", whyNot(session, element));
    setNumber(session, setting, element, value[i]);
  }
}

} // namespace

json valueAt(const json &recipe, const std::string &path) {
  json::json_pointer place = placeOf(path);
  return recipe.contains(place) ? recipe.at(place) : json();
}

json withNumbersOf(const Session &session, json recipe) {
  for (const std::string &name : numbersOf(session))
    if (json::json_pointer place = placeOf(name); recipe.contains(place))
      recipe.at(place) = numberOf(session, name);
  return recipe;
}

void setNumbers(Session &session, const std::vector<std::string> &settings) {
  for (const std::string &setting : settings)
    set(session, setting);
}

void takeRecompiledNumbers(Session &session, const json &before) {
  json recipe = recipeOf(session);
  for (const std::string &name : numbersOf(session)) {
    json now = valueAt(recipe, name);
    if (!now.is_number() || now == valueAt(before, name))
      continue;
    double number = now;
    check(session.writeState(name, &number, sizeof(number)));
  }
}

void noteSetNumbers(const Session &session) {
  json recipe = recipeOf(session);
  for (const std::string &name : numbersOf(session)) {
    json compiled = valueAt(recipe, name);
    double number = numberOf(session, name);
    if (compiled.is_number() && compiled != number)
      note(absl::StrCat(name, " is ", jsonText(json(number)), " (",
                        jsonText(compiled), " in ", session.artifact().path(),
                        ")"));
  }
}

} // namespace gradus::cli
