// The keys of run_settings.h.

#include "recipe/run_settings.h"

namespace gradus {

const recipe::Keys<RunSettings> &runKeys() {
  using enum recipe::Kind;
  using recipe::Field;
  static const recipe::Keys<RunSettings> keys = {
      Field{"memory_limit", bytes, "null",
            "such as \"2GiB\", for state, arena, constants and code; parts of "
            "the model are computed twice until the step fits"}
          .into(&RunSettings::memoryLimit),
      Field{"deterministic", boolean, "false",
            "the bits do not depend on the number of threads"}
          .into(&RunSettings::deterministic),
      Field{"convolutions", choice, "\"auto\"",
            "how convolutions are computed; auto: those of 3x3 and stride 1 by "
            "Winograd's algorithm where that is faster; direct: all without "
            "it, which rounds less"}
          .among({{"auto"}, {"direct"}})
          .flagged()
          .into(&RunSettings::convolutions),
      Field{"seed", integer, "0", "of initial weights and of all random draws"}
          .from(0)
          .into(&RunSettings::seed),
      Field{"settable", boolean, "true",
            "numbers such as the learning rate may be set while training "
            "(train --set); false: they are constants"}
          .into(&RunSettings::isSettable)};
  return keys;
}

const recipe::Field &settableKey() { return runKeys().back(); }

RunSettings runSettings(ProgramOp program) {
  return recipe::read(program, runKeys());
}

} // namespace gradus
