// replay_TARGET FILE|FOLDER...: gives a fuzz target each of the files and
// counts what became of them. Exit code 1 where one is refused without words,
// or one whose name begins with whole_ is not taken; a crash is a crash, behind
// the name of its file.

#include "target.h"

#include <cstdio>
#include <filesystem>

using namespace gradus::fuzz;

namespace {

struct Counts {
  int taken = 0, refused = 0, skipped = 0;
};

/// Whether the outcome is as it should be.
bool count(const std::string &path, const Outcome &outcome, Counts &counts) {
  bool isWhole =
      std::filesystem::path(path).filename().string().starts_with("whole_");
  switch (outcome.kind) {
  case Outcome::taken:
    ++counts.taken;
    return true;
  case Outcome::skipped:
    ++counts.skipped;
    return !isWhole;
  case Outcome::refused:
    ++counts.refused;
    return !isWhole && !outcome.words.empty();
  }
}

} // namespace

int main(int argumentCount, char **arguments) {
  std::vector<std::string> paths(arguments + 1, arguments + argumentCount);
  prepare(paths);
  Counts counts;
  bool isRight = true;
  for (const std::string &path : filesAt(paths)) {
    std::fprintf(stderr, "%s: ", path.c_str());
    Outcome outcome = tryInput(contentOf(path));
    std::fprintf(stderr, "%s\n",
                 outcome.kind == Outcome::taken ? "taken"
                                                : outcome.words.c_str());
    if (!count(path, outcome, counts)) {
      std::printf("%s: should not be refused so: %s\n", path.c_str(),
                  outcome.words.c_str());
      isRight = false;
    }
  }
  std::printf("%d taken, %d refused, %d skipped\n", counts.taken,
              counts.refused, counts.skipped);
  return isRight && counts.taken + counts.refused > 0 ? 0 : 1;
}
