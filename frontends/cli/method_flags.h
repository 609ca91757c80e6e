// Training methods as flags of `gradus compile`: short for keys of the recipe.

#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gradus::cli {

/// Settings that override the recipe's, each with its flag.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The value of each flag; empty if it was not given.
using MethodFlags = std::map<std::string, std::string>;

/// Adds --boost and a flag for each method.
void addMethodFlags(CLI::App &command, MethodFlags &flags);

/// Converts `--gradient-freeze=groups=10,total-steps=65536` to settings of its
/// key; a flag alone enables its method with the defaults.
Settings settingsOf(const MethodFlags &flags);

} // namespace gradus::cli
