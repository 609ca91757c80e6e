// The forms in which a device computes an artifact's calls of libraries: a call
// for which its library has no algorithm becomes several.

#pragma once

#include "runtime/artifact/artifact.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// {"device": "emulated", "target": "cuda", "calls": [{"call": "matmul+bias",
/// "count": 12, "form": "whole"}]}, with the "why" of what is not. Opens the
/// device, and no memory is taken for the plan.
nlohmann::ordered_json callFormsOf(const runtime::Artifact &artifact,
                                   const std::string &device);
/// A table of them.
std::string callFormsText(const nlohmann::ordered_json &forms);

} // namespace gradus::cli
