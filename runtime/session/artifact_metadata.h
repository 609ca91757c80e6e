// Tells what an artifact says of itself, as JSON texts under keys.

#pragma once

#include "runtime/session/session.h"

#include <string>

namespace gradus::runtime {

/// The key of the whole recipe, which is no path of a key.
constexpr const char *kWholeRecipe = "";

/// The text under a key of gradus_metadata (gradus.h), or of the whole recipe;
/// empty if the artifact says nothing there.
std::string metadataOf(const Session &session, const std::string &key);

} // namespace gradus::runtime
