// What an artifact contains, as JSON: graphs, commands, memory, costs.

#pragma once

#include "runtime/artifact.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// "cpu:amx", or "cuda (sm_90, emulated)" with the images of the plan.
std::string targetText(const artifact::Plan &plan);

/// Keys as `gradus inspect --json` prints them. Takes some milliseconds to
/// measure the machine, for the times to expect.
nlohmann::ordered_json artifactJson(const runtime::Artifact &artifact);

} // namespace gradus::cli
