// The command that goes on, ready to be pasted into a shell.

#include "tool/command_line.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::cli;

static std::string resumed(std::vector<std::string> words) {
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  rememberCommandLine(static_cast<int>(argv.size()), argv.data());
  std::string text = resumeCommand("c.safetensors");
  rememberCommandLine(0, nullptr);
  return text;
}

TEST(CommandLine, IsTheSameCallFromTheCheckpointOn) {
  EXPECT_EQ(resumed({"gradus", "train", "a.gradus", "--data", "it's mine.npz"}),
            "gradus train a.gradus --data 'it'\\''s mine.npz' --resume "
            "c.safetensors");
}

TEST(CommandLine, TakesTheStateFromNowhereElse) {
  EXPECT_EQ(resumed({"gradus", "train", "--resume", "old", "--init=x",
                     "--init-map", "a=b", "--steps", "9"}),
            "gradus train --steps 9 --resume c.safetensors");
}

TEST(CommandLine, HasTheValuesOfAnOption) {
  std::vector<std::string> words = {
      "gradus", "--plugin", "a.so", "--plugin=b", "--plug", "c", "--plugin"};
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  rememberCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(valuesOf("--plugin"), (std::vector<std::string>{"a.so", "b"}));
  rememberCommandLine(0, nullptr);
}

TEST(CommandLine, WritesOutWhatATerminalWouldObey) {
  EXPECT_EQ(shellText({"caf\xe9"
                       "1",
                       "\033[31m", "it's\\\n", "caf\xc3\xa9"}),
            "$'caf\\xe91' $'\\x1b[31m' $'it\\'s\\\\\\x0a' 'caf\xc3\xa9'");
}

TEST(CommandLine, IsShortWhereTheCallIsNotKnown) {
  EXPECT_EQ(resumeCommand("c.safetensors"), "--resume c.safetensors");
}

TEST(CommandLine, IsRememberedAsAShellReadsIt) {
  resumed({"gradus"}); // leaves nothing behind
  EXPECT_EQ(rememberedCommand(), "");
  std::vector<std::string> words = {"gradus", "train", "my file"};
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  rememberCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(rememberedCommand(), "gradus train 'my file'");
  rememberCommandLine(0, nullptr);
}

/// The launcher's own words are not known here: it did not start this test.
TEST(CommandLine, SaysThatALauncherStandsBefore) {
  EXPECT_EQ(resumeAdvice("c.safetensors"),
            "continue with: --resume c.safetensors");
  setenv("PMI_SIZE", "4", 1);
  EXPECT_EQ(resumeAdvice("c.safetensors"),
            "continue on 4 processes, as the launcher has started them, with: "
            "--resume c.safetensors");
  std::vector<std::string> words = {"gradus", "train", "--ranks", "4"};
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  rememberCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(resumeAdvice("c.safetensors"),
            "continue with: gradus train --ranks 4 --resume c.safetensors");
  rememberCommandLine(0, nullptr);
  unsetenv("PMI_SIZE");
}

TEST(CommandLine, IsOfAProcessWithANumber) {
  EXPECT_FALSE(isLaterProcess());
  setenv("PMI_SIZE", "2", 1);
  setenv("PMI_RANK", "0", 1);
  EXPECT_FALSE(isLaterProcess());
  setenv("PMI_RANK", "1", 1);
  EXPECT_TRUE(isLaterProcess());
  setenv("PMI_SIZE", "1", 1);
  EXPECT_FALSE(isLaterProcess());
  unsetenv("PMI_SIZE");
  unsetenv("PMI_RANK");
}
