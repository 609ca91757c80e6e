// Settings of how a step runs, whatever it computes, which passes, codegen and
// importers read.
#pragma once

#include "recipe/settings.h"

namespace gradus {

/// Which algorithms may compute convolutions: the fastest that the rule of
/// docs/precision.md allows, or none but direct sums.
enum class Convolutions { fastest, direct };

struct RunSettings {
  int64_t seed = 0;           // of initial weights and of all random draws
  bool deterministic = false; // the bits do not depend on the threads
  std::optional<int64_t> memoryLimit; // bytes of state, arena, constants, code
  Convolutions convolutions = Convolutions::fastest;
  bool isSettable = true; // numbers are states, which may be set
};

const recipe::Keys<RunSettings> &runKeys();

/// The key that makes numbers states, or constants.
const recipe::Field &settableKey();

/// Reads them from a program's recipe.
RunSettings runSettings(ProgramOp program);

} // namespace gradus
