// Checks the normalization of inputs: the tool normalizes them as the
// artifact's recipe says, and weights are only right for inputs like those that
// they were trained on.

#pragma once

#include "tool/session/session_options.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// The input, such as "image", to which two `inputs.normalize` give different
/// values; empty if there is none. A missing mean is 0, a missing std 1, and
/// one number stands for all channels.
std::string otherwiseNormalized(const nlohmann::json &one,
                                const nlohmann::json &other);

/// Compares the `inputs.normalize` that a state was trained with, if its file
/// records it, with the artifact's. For a whole state (--checkpoint, --resume)
/// a difference is a Failure; for parameters alone (--init), which may be meant
/// for other inputs, it is a warning.
void checkNormalization(const runtime::Session &session,
                        const SessionOptions &options);

} // namespace gradus::cli
