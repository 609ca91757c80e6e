// Words of suggestions; what is near is said in recipe/nearest.h.

#include "tool/suggestion.h"

#include "messages/shell_word.h"
#include "recipe/nearest.h"
#include "recipe/synonyms.h"

#include "messages/message.h"

#include <algorithm>

namespace gradus::cli {
namespace {

using Names = std::vector<std::string>;

bool has(const Names &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The name of an option: `--dim` of `--dim batch=N`.
std::string nameOf(std::string_view option) {
  return std::string(option.substr(0, option.find(' ')));
}

/// `--set KEY=VALUE` for a key.
std::string settingOf(const Synonym &synonym) {
  std::string_view value = synonym.value();
  for (const ObjectKey &each : kObjectKeys)
    if (each.key == synonym.key() && value.empty())
      return "--set " + shellWord(std::string(each.setting));
  std::string setting =
      "--set " +
      shellWord(message(synonym.key(), "=", value.empty() ? "VALUE" : value));
  std::string_view converted = convertedValue(synonym.word);
  return converted.empty() ? setting : message(setting, ", ", converted);
}

/// Whether a command has what a synonym means. Training sets numbers alone.
bool isOf(const std::string &command, const Names &own,
          const Synonym &synonym) {
  if (synonym.isOption())
    return has(own, nameOf(synonym.option()));
  return has(own, "--set") && (command != "train" || synonym.isSettable());
}

/// The first command that has an option; the two great ones come first.
std::string commandWith(const std::string &option, const Commands &all) {
  std::string found;
  for (const auto &[name, options] : all)
    if (has(options, option) &&
        (found.empty() || name == "compile" || name == "train"))
      found = found == "compile" ? found : name;
  return found;
}

/// Says where a word of another tool stands here.
std::string placeOf(const Synonym &synonym, const std::string &command,
                    const Names &own) {
  std::string words =
      synonym.isOption() ? std::string(synonym.option()) : settingOf(synonym);
  if (isOf(command, own, synonym))
    return "; write " + words;
  if (synonym.isOption() && synonym.command() != "compile")
    return message("; `gradus ", synonym.command(), "` has ", nameOf(words));
  return "; it is fixed when compiling: gradus compile MODEL " + words;
}

/// The names without their dashes, by which they are compared.
Names withoutDashes(const Names &names) {
  Names bare;
  for (std::string_view name : names)
    bare.emplace_back(name.starts_with("--") ? name.substr(2) : name);
  return bare;
}

/// The nearest option, and what to do for those of plug-ins unless a letter or
/// two make it that one.
std::string nearestOption(const std::string &option, const Names &known,
                          bool mayBePlugins) {
  constexpr size_t kFewLetters = 2;
  std::string word = option.substr(option.starts_with("--") ? 2 : 0);
  const Names names = withoutDashes(known);
  std::string_view near = nearest(word, names);
  std::string text =
      near.empty() ? "" : message("; did you mean '--", near, "'?");
  bool isNear = !near.empty() && likeness(word, near).first <= kFewLetters;
  if (mayBePlugins && !isNear)
    text += message(near.empty() ? "; a" : " A",
                    " plug-in's flag needs --plugin FILE.so");
  return text;
}

} // namespace

std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known) {
  std::string best(nearest(word, known));
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

std::string suggestedOption(const std::string &option,
                            const std::string &command, const Commands &all,
                            bool hasPlugins) {
  auto own = all.find(command);
  const Names known = own == all.end() ? Names() : own->second;
  const std::vector<Synonym> meant = synonymsOf(option);
  for (const Synonym &each : meant)
    if (isOf(command, known, each))
      return placeOf(each, command, known);
  if (std::string other = commandWith(option, all); !other.empty())
    return message("; `gradus ", other, "` has it");
  if (!meant.empty())
    return placeOf(meant.front(), command, known);
  if (std::string_view why = whyNeedless(option); !why.empty())
    return message("; ", why);
  return nearestOption(option, known, has(known, "--plugin") && !hasPlugins);
}

} // namespace gradus::cli
