// A number's state has the path of its key as its name.

#include "frontends/cli/set_numbers.h"

#include "frontends/cli/failure.h"
#include "frontends/cli/session_options.h"
#include "frontends/cli/suggestion.h"
#include "frontends/cli/text.h"
#include "frontends/json_text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <cmath>
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

/// Why a key of the recipe, or another word, is no number that can be set.
std::string whyNot(const Session &session, const std::string &key) {
  json recipe = recipeOf(session), value = valueAt(recipe, key);
  std::string artifact = session.artifact().path();
  if (recipe.value("settable", true) == false)
    return absl::StrCat(artifact, " was compiled with \"settable\": false, so "
                                  "its numbers are constants");
  if (value.is_number() && value == 0)
    return absl::StrCat("it is 0 in ", artifact,
                        ", which leaves out what 0 switches off; compile with "
                        "another number first");
  if (!value.is_null())
    return absl::StrCat("it is fixed when compiling: gradus compile --set ",
                        key, "=...");
  std::vector<std::string> names = numbersOf(session);
  return absl::StrCat(artifact, " has no such number", suggestion(key, names),
                      "; it has ",
                      names.empty() ? "none" : absl::StrJoin(names, ", "));
}

void setNumber(Session &session, const std::string &setting,
               const std::string &key, const json &value) {
  int state = session.findState(key);
  if (state < 0 || !session.states()[state].isNumber())
    throw badInput("--set ", setting, ": ", whyNot(session, key));
  if (!value.is_number())
    throw badInput("--set ", setting, ": expected a number, found ",
                   jsonText(value));
  double number = value;
  runtime::Status status = session.writeState(key, &number, sizeof(number));
  if (!status.ok())
    throw badInput("--set ", setting, ": ", status.message());
}

void set(Session &session, const std::string &setting) {
  auto [key, text] = std::pair<std::string, std::string>(
      absl::StrSplit(setting, absl::MaxSplits('=', 1)));
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (key.empty() || value.is_discarded())
    throw badInput("--set ", setting,
                   ": expected KEY=NUMBER, such as "
                   "optimizer.learning_rate=0.001");
  if (!value.is_array())
    return setNumber(session, setting, key, value);
  for (size_t i = 0; i < value.size(); ++i)
    setNumber(session, setting, absl::StrCat(key, "[", i, "]"), value[i]);
}

} // namespace

json valueAt(const json &recipe, const std::string &path) {
  const json *at = &recipe;
  std::string dotted = absl::StrReplaceAll(path, {{"[", "."}, {"]", ""}});
  for (absl::string_view key : absl::StrSplit(dotted, '.')) {
    size_t index = 0;
    if (at->is_object() && at->contains(std::string(key)))
      at = &(*at)[std::string(key)];
    else if (at->is_array() && absl::SimpleAtoi(key, &index) &&
             index < at->size())
      at = &(*at)[index];
    else
      return {};
  }
  return *at;
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
