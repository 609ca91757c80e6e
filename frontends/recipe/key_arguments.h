// Arguments of gradus-opt that set keys of the recipe: `--set KEY=VALUE`, and
// the flags of keys, `--clip=type=norm,value=0.5`.
//
// A flag may have the name of a pass. Alone, or with options of the pass, it is
// the pass; `--less-bn=keep=["bn1"]` sets keys and runs the pass.
#pragma once

#include "frontends/recipe/fields.h"
#include "frontends/recipe/flags.h"

#include "ir/gradus.h"

#include <deque>

namespace gradus::recipe {

struct __attribute__((visibility("default"))) KeyArguments {
  explicit KeyArguments(const std::vector<char *> &arguments);

  Overrides settings;
  std::vector<char *> others; // for MLIR
  std::string problem;        // with the arguments, in words; empty: none

  /// Returns the words of `--help` about them.
  static std::string help();
  /// Notes which of the passes that are asked for a program switches on.
  void see(ProgramOp program);
  /// A line for each pass that no program switched on, if any was seen.
  std::string offPasses() const;
  bool hasMethods() const { return !methods_.empty(); }

private:
  struct Method {
    Switch its;
    bool isSeen = false, isOn = false;
  };

  size_t readAt(const std::vector<char *> &arguments, size_t at);
  void notePass(const std::string &name, llvm::StringRef options);

  std::vector<Flag> flags_ = flags();
  std::vector<Method> methods_;  // whose passes the arguments name
  std::deque<std::string> made_; // words of `others` that no one gave
};

} // namespace gradus::recipe
