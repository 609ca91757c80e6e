// Detects files of other tools, and of other commands, by their first bytes:
// newcomers often pass them to a command first.

#pragma once

#include <string>

namespace gradus::cli {

enum class Wanted { artifact, model, weights, data };

/// Whether the file begins as an artifact does.
bool isArtifact(const std::string &path);

/// Throws a Failure that says what the file is and what to do with it, if it is
/// known to be of another kind than expected. `option` reads a .safetensors
/// file of the same weights; if empty, it is not mentioned. Missing files have
/// errors of their own.
void refuseForeign(const std::string &path, Wanted wanted,
                   const std::string &option = "");

} // namespace gradus::cli
