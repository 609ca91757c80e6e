// The whole recipe as one field: its own keys, and those that training methods
// declare beside their passes.

#pragma once

#include "recipe/field.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::recipe {

/// The recipe as an object of its keys, in the order of its text; those of
/// plug-ins that are loaded are in `plugins`. It stays valid where more are
/// loaded.
const Field &recipeField();

/// The framework whose defaults hold in an object, which may have a `compat`;
/// without one it is that of what is `around`.
std::string frameworkIn(const nlohmann::ordered_json &object,
                        const std::string &around);
/// The same of an object of the recipe, both of which may be as they were
/// written.
std::string frameworkOf(const nlohmann::ordered_json &recipe,
                        const nlohmann::ordered_json &object);

/// A key of the recipe that is on the command line, too.
struct Flagged {
  const Field *field;
  std::string path; // of the key
};
std::vector<Flagged> flaggedKeys();

/// A pass that does nothing unless the recipe has its key.
struct Switch {
  std::string pass, path; // of the key
  const Field *field;
  std::string object; // that the key is in; empty: the recipe
};
std::vector<Switch> switches();

} // namespace gradus::recipe
