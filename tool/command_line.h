// The words of the command line, so that the tool can say how to resume.

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// Keeps the words of the call; main() passes them.
void rememberCommandLine(int argc, char **argv);

/// The words of the call; empty if they are not known.
const std::vector<std::string> &rememberedWords();

/// The call as a shell command; empty if it is not known.
std::string rememberedCommand();

/// The values of an option that repeats, for what must be known before the
/// words are parsed.
std::vector<std::string> valuesOf(const std::string &option);

/// The call as a shell command that continues from `checkpoint`: without
/// --init, --init-map and another --resume. Only "--resume CHECKPOINT" if the
/// call is not known. Under mpirun on the same host it begins with mpirun's
/// words; where another launcher has started the process, these are left out.
std::string resumeCommand(const std::string &checkpoint);

/// "continue with: " and that command; "continue on 4 processes, as the
/// launcher has started them, with: " where its words are left out.
std::string resumeAdvice(const std::string &checkpoint);

/// Quotes `words` for a shell.
std::string shellText(const std::vector<std::string> &words);

/// Whether a launcher has started this process, and it is not the first: what
/// is to be said of the words of a command, which all have, the first one says.
bool isLaterProcess();

/// Gives the first process the time to say what is wrong with the words, if
/// this is a later one: a launcher ends all when one ends. Returns whether it
/// is.
bool leavesWordsToFirst();

} // namespace gradus::cli
