// Words of suggestions; what is near is said in recipe/nearest.h.

#include "frontends/cli/suggestion.h"

#include "frontends/shell_word.h"
#include "recipe/nearest.h"
#include "recipe/synonyms.h"

#include "frontends/message.h"

#include <algorithm>

namespace gradus::cli {
namespace {

using Names = std::vector<std::string>;

bool has(const Names &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Says where a word of another tool stands here.
std::string placeOf(const Synonym &synonym, const std::string &command,
                    const Names &own) {
  std::string words;
  if (synonym.isOption()) {
    words = synonym.option();
    std::string name = words.substr(0, words.find(' '));
    if (synonym.command() != "compile" && !has(own, name))
      return message("; `gradus ", synonym.command(), "` has ", name);
  } else {
    std::string_view value = synonym.value();
    words = "--set " + shellWord(message(synonym.key(), "=",
                                         value.empty() ? "VALUE" : value));
  }
  bool isOwn = has(own, words.substr(0, words.find(' ')));
  return (isOwn ? "; write " : "; it is said when compiling: ") + words;
}

} // namespace

std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known) {
  std::string best(nearest(word, known));
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

std::string suggestedOption(const std::string &option,
                            const std::string &command, const Commands &all) {
  auto own = all.find(command);
  const Names known = own == all.end() ? Names() : own->second;
  if (std::vector<Synonym> meant = synonymsOf(option); !meant.empty())
    return placeOf(meant.front(), command, known);
  std::string other;
  for (const auto &[name, options] : all) // The two great ones come first.
    if (has(options, option) &&
        (other.empty() || name == "compile" || name == "train"))
      other = other == "compile" ? other : name;
  return other.empty() ? suggestion(option, known)
                       : message("; `gradus ", other, "` has it");
}

} // namespace gradus::cli
