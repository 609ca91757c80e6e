// Training methods as flags of `gradus compile`: short for keys of the recipe.

#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gradus::cli {

/// Settings over the recipe's, each with the flag that it comes from.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What was given for each flag; empty: nothing.
using MethodFlags = std::map<std::string, std::string>;

/// Adds --boost and a flag for each method.
void addMethodFlags(CLI::App &command, MethodFlags &flags);

/// `--gradient-freeze=groups=10,total-steps=65536` as settings of its key;
/// alone, a flag asks for its method with the defaults.
Settings settingsOf(const MethodFlags &flags);

} // namespace gradus::cli
