// Quotes only what a shell would change.

#include "frontends/cli/command_line.h"

namespace gradus::cli {

static std::vector<std::string> &rememberedWords() {
  static std::vector<std::string> words;
  return words;
}

void rememberCommandLine(int argc, char **argv) {
  rememberedWords().assign(argv, argv + argc);
}

static std::string quoted(const std::string &word) {
  constexpr const char *kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
                                 "TUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos)
    return word;
  std::string text = "'";
  for (char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string shellText(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

std::string resumeCommand(const std::string &checkpoint) {
  std::vector<std::string> words;
  bool isValue = false;
  for (const std::string &word : rememberedWords()) {
    bool starts = word.starts_with("--resume") || word.starts_with("--init");
    if (!isValue && !starts)
      words.push_back(word);
    isValue = starts && word.find('=') == std::string::npos;
  }
  words.insert(words.end(), {"--resume", checkpoint});
  return shellText(words);
}

} // namespace gradus::cli
