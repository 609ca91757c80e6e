// Files of other tools, and of other commands, that are taken for what a
// command wants: the first guesses of somebody new. They are known by their
// first bytes.

#pragma once

#include <string>

namespace gradus::cli {

enum class Wanted { artifact, model, weights, data };

/// A Failure that says what the file is and what to do with it, where it is
/// known to be something else than what is wanted. `option` is the one that
/// takes a .safetensors file of the same weights; empty: nothing is said of it.
/// Files that are not there have errors of their own.
void refuseForeign(const std::string &path, Wanted wanted,
                   const std::string &option = "");

} // namespace gradus::cli
