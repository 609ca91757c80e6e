// Each rule is the two texts around the star of each side; a file has many.

#include "frontends/compiler/name_map.h"

#include "frontends/compiler/text_file.h"
#include "messages/json_text.h"
#include "messages/message.h"
#include "recipe/nearest.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace gradus::compiler {
namespace {

/// A text with at most one star.
struct Pattern {
  std::string before, after;
  bool star = false;

  explicit Pattern(const std::string &text) : before(text) {
    size_t at = text.find('*');
    star = at != std::string::npos;
    if (star) {
      before = text.substr(0, at);
      after = text.substr(at + 1);
    }
  }

  /// The text that the star matches in `name`.
  std::optional<std::string> match(const std::string &name) const {
    if (!star)
      return name == before ? std::optional(std::string()) : std::nullopt;
    if (name.size() < before.size() + after.size() ||
        !name.starts_with(before) || !name.ends_with(after))
      return std::nullopt;
    return name.substr(before.size(),
                       name.size() - before.size() - after.size());
  }
};

struct Rule {
  Pattern from, to;
  bool leavesOut;
  std::string text, pattern; // the whole rule, and its first side

  /// The new name of a matching name; "" if the rule leaves it out.
  std::optional<std::string> nameOf(const std::string &name) const {
    auto part = from.match(name);
    if (!part || leavesOut)
      return part ? std::optional(std::string()) : std::nullopt;
    return to.before + *part + to.after;
  }
};

/// Parses a rule; `text` is its option and the whole rule, for errors.
absl::StatusOr<Rule> ruleOf(const std::string &text, const std::string &from,
                            const std::string &to) {
  for (const std::string &side : {from, to})
    if (std::count(side.begin(), side.end(), '*') > 1)
      return invalid(text, ": ", side, " has several *; one is possible");
  Rule rule{Pattern(from), Pattern(to), to.empty(), text, from};
  if (rule.to.star && !rule.from.star)
    return invalid(text, ": ", to, " repeats a *, but ", from, " has none");
  if (!rule.leavesOut && rule.from.star && !rule.to.star)
    return invalid(text, ": all that fit ", from, " would be named ", to,
                   "; repeat the *");
  return rule;
}

absl::StatusOr<Rule> ruleOf(const std::string &option,
                            const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid(option, " ", text, ": expected FROM=TO, such as ",
                   "'encoder.*=backbone.*', or a file of JSON");
  return ruleOf(option + " " + text, text.substr(0, equals),
                text.substr(equals + 1));
}

/// Finds repeated keys in the file's one object: JSON would keep the last of
/// two.
struct SeenKeys {
  std::set<std::string> keys;
  std::string twice;

  bool operator()(int depth, nlohmann::json::parse_event_t event,
                  const nlohmann::ordered_json &parsed) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key &&
        !keys.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  }
};

/// Reads {"FROM": "TO", ...}; null leaves a name out.
absl::Status addRulesOf(const std::string &option, const std::string &path,
                        std::vector<Rule> &rules) {
  SeenKeys seen;
  std::optional<std::string> text = textOfFile(path);
  auto json = nlohmann::ordered_json();
  if (text && !isTooDeep(*text))
    json = nlohmann::ordered_json::parse(
        *text,
        [&](int depth, auto event, auto &parsed) {
          return seen(depth, nlohmann::json::parse_event_t(event), parsed);
        },
        /*allow_exceptions=*/false);
  if (!seen.twice.empty())
    return invalid(option, " ", path, ": ", seen.twice,
                   " stands twice; a name has one rule");
  if (!json.is_object())
    return invalid(option, " ", path, ": expected a file with a JSON object ",
                   R"(such as {"encoder.*": "backbone.*", "head.*": null})");
  for (const auto &[from, to] : json.items()) {
    if (!to.is_string() && !to.is_null())
      return invalid(option, " ", path, ": ", from, " becomes ", jsonText(to),
                     ", expected a name or null");
    std::string name = to.is_null() ? "" : to.get<std::string>();
    std::string whole = message(option, " ", path, ": ", from, "=", name);
    GRADUS_ASSIGN_OR_RETURN(Rule rule, ruleOf(whole, from, name));
    rules.push_back(std::move(rule));
  }
  return absl::OkStatus();
}

} // namespace

struct NameMap::Rules {
  std::vector<Rule> list;
};

bool isRuleFile(const std::string &text) {
  return text.ends_with(".json") && text.find('=') == std::string::npos;
}

absl::StatusOr<NameMap> NameMap::of(const std::string &option,
                                    const std::vector<std::string> &texts) {
  std::vector<Rule> rules;
  for (const std::string &text : texts) {
    if (isRuleFile(text)) {
      GRADUS_RETURN_IF_ERROR(addRulesOf(option, text, rules));
      continue;
    }
    GRADUS_ASSIGN_OR_RETURN(Rule rule, ruleOf(option, text));
    rules.push_back(std::move(rule));
  }
  return NameMap(std::make_shared<Rules>(std::move(rules)));
}

std::string NameMap::operator()(const std::string &name) const {
  for (const Rule &rule : rules_->list)
    if (auto given = rule.nameOf(name))
      return *given;
  return name;
}

absl::StatusOr<std::vector<std::string>>
NameMap::newNames(const std::vector<std::string> &names) const {
  std::vector<std::string> changed;
  std::map<std::string, size_t> meant; // for each new name the tensor
  for (size_t i = 0; i < names.size(); ++i) {
    std::string name = changed.emplace_back((*this)(names[i]));
    if (name.empty())
      continue;
    auto [place, isNew] = meant.emplace(name, i);
    if (isNew)
      continue;
    bool renamed = name != names[i], before = names[place->second] != name;
    if (renamed && before)
      return invalid("tensors ", names[place->second], " and ", names[i],
                     " are both meant for ", name);
    changed[renamed ? place->second : i].clear();
    if (renamed)
      place->second = i;
  }
  return changed;
}

/// Suggests "; did you mean a?", or an existing name.
static std::string nearestOf(const std::string &name,
                             const std::vector<std::string> &known) {
  std::string_view best = nearest(name, known);
  if (best.empty())
    return known.empty() ? "" : message("; there is ", known.front());
  return message("; did you mean ", best, "?");
}

absl::Status NameMap::checkFits(const std::string &file,
                                const std::vector<std::string> &from) const {
  for (const Rule &rule : rules_->list)
    if (std::ranges::none_of(from, [&](const std::string &name) {
          return rule.nameOf(name).has_value();
        }))
      return invalid(rule.text, ": no tensor of ", file, " fits ", rule.pattern,
                     nearestOf(rule.pattern, from));
  return absl::OkStatus();
}

absl::Status NameMap::checkKnown(const std::vector<std::string> &from,
                                 const std::vector<std::string> &to) const {
  for (const Rule &rule : rules_->list) {
    bool known = rule.leavesOut;
    std::string wanted;
    for (const std::string &name : from)
      if (auto given = rule.nameOf(name)) {
        wanted = *given;
        known |= std::ranges::find(to, wanted) != to.end();
      }
    if (!known)
      return invalid(rule.text, ": the model has no ", wanted,
                     nearestOf(wanted, to));
  }
  return absl::OkStatus();
}

} // namespace gradus::compiler
