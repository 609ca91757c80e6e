// Drops the options that name the initial state, and adds --resume.

#include "tool/command_line.h"

#include "messages/shell_word.h"

namespace gradus::cli {

static std::vector<std::string> &words() {
  static std::vector<std::string> words;
  return words;
}

const std::vector<std::string> &rememberedWords() { return words(); }

void rememberCommandLine(int argc, char **argv) {
  words().assign(argv, argv + argc);
}

std::vector<std::string> valuesOf(const std::string &option) {
  std::vector<std::string> values;
  const std::vector<std::string> &words = rememberedWords();
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].starts_with(option + "="))
      values.push_back(words[i].substr(option.size() + 1));
    else if (words[i] == option && i + 1 < words.size())
      values.push_back(words[i + 1]);
  return values;
}

std::string shellText(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + shellWord(word);
  return text;
}

std::string rememberedCommand() { return shellText(rememberedWords()); }

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
