// Drops the options that name the initial state, and adds --resume. What
// mpirun was called with is read of the process that has started this one.

#include "tool/command_line.h"

#include "messages/shell_word.h"
#include "runtime/collectives/launcher.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <fstream>
#include <thread>
#include <unistd.h>

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

/// The words of the process that has started this one.
static std::vector<std::string> wordsOfParent() {
  std::ifstream file(absl::StrCat("/proc/", getppid(), "/cmdline"));
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  return words;
}

/// Whether a launcher has started this process as one of several, not this
/// program by --ranks.
static bool isLaunched() {
  auto found = runtime::launched();
  return found && found->processes > 1 && valuesOf("--ranks").empty();
}

/// The words of a launcher that stand before those of this call; none if they
/// cannot be known, as on another host.
static std::vector<std::string> wordsOfLauncher() {
  std::vector<std::string> all = wordsOfParent(), own = rememberedWords();
  bool endsInOwn = all.size() > own.size() &&
                   std::equal(own.rbegin(), own.rend(), all.rbegin());
  if (!isLaunched() || own.empty() || !endsInOwn)
    return {};
  all.resize(all.size() - own.size());
  return all;
}

std::string resumeAdvice(const std::string &checkpoint) {
  std::string with = ": " + resumeCommand(checkpoint);
  if (isLaunched() && wordsOfLauncher().empty())
    return absl::StrCat("continue on ", runtime::launched()->processes,
                        " processes, as the launcher has started them, with",
                        with);
  return "continue with" + with;
}

std::string resumeCommand(const std::string &checkpoint) {
  std::vector<std::string> words = wordsOfLauncher();
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

bool isLaterProcess() {
  auto found = runtime::launched();
  return found && found->processes > 1 && found->number > 0;
}

bool leavesWordsToFirst() {
  bool isLater = isLaterProcess();
  if (isLater)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  return isLater;
}

} // namespace gradus::cli
