// Inputs are normalized by the tool, as the artifact's recipe says, and weights
// are right for the inputs that they were trained on alone.

#pragma once

#include "frontends/cli/session_options.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// "image" where two `inputs.normalize` make other values of an input; empty
/// where none does. A mean that is not there is 0, a std 1, and one number
/// stands for all channels.
std::string otherwiseNormalized(const nlohmann::json &one,
                                const nlohmann::json &other);

/// Compares the `inputs.normalize` that a state was trained with, where its
/// file says it, with the artifact's. A whole state (--checkpoint, --resume)
/// that was trained on other values is a Failure; of parameters alone (--init),
/// which may be meant for other inputs, it is a warning.
void checkNormalization(const runtime::Session &session,
                        const SessionOptions &options);

} // namespace gradus::cli
