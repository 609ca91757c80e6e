// Keys of the recipe as flags of a command line, one for each key that is
// flagged(): `--gradient-freeze=groups=10,total-steps=65536`.

#pragma once

#include "frontends/recipe/recipe.h"

namespace gradus::recipe {

struct Flag {
  std::string name; // "--gradient-freeze"
  std::string help; // that of the key
  std::string form; // of its value, "f32|bf16|f16"; empty: may stand alone
};

/// The flags of all keys that have one, in the order of the recipe's text.
std::vector<Flag> flags();

/// Converts a flag with its value to settings of its key. The value of a flag
/// that stands alone is "true", which asks for the method with its defaults.
absl::StatusOr<Overrides> settingsOf(const std::string &flag,
                                     const std::string &value);

} // namespace gradus::recipe
