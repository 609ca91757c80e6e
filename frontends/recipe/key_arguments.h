// Arguments of gradus-opt that set keys of the recipe: `--set KEY=VALUE`, and
// the flags of keys, `--clip=type=norm,value=0.5`.
//
// A flag may have the name of a pass. Alone, or with options of the pass, it is
// the pass; `--less-bn=keep=["bn1"]` sets keys and runs the pass.
#pragma once

#include "frontends/recipe/flags.h"

#include <deque>

namespace gradus::recipe {

struct __attribute__((visibility("default"))) KeyArguments {
  explicit KeyArguments(const std::vector<char *> &arguments);

  Overrides settings;
  std::vector<char *> others; // for MLIR
  std::string problem;        // with the arguments, in words; empty: none

private:
  size_t readAt(const std::vector<char *> &arguments, size_t at);

  std::vector<Flag> flags_ = flags();
  std::deque<std::string> made_; // words of `others` that no one gave
};

} // namespace gradus::recipe
