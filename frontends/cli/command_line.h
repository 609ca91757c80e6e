// How the tool was called, so that it can say how to go on.

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// Keeps the words of the call; main() gives them.
void rememberCommandLine(int argc, char **argv);

/// The same call, as a shell reads it, but from `checkpoint` on: without
/// --init, --init-map and another --resume. Only "--resume CHECKPOINT" where
/// the call is not known.
std::string resumeCommand(const std::string &checkpoint);

/// `words` as a shell reads them.
std::string shellText(const std::vector<std::string> &words);

} // namespace gradus::cli
