// What an artifact contains, as JSON: graphs, commands, memory, costs.

#pragma once

#include "runtime/artifact.h"

#include <nlohmann/json.hpp>

namespace gradus::cli {

/// Keys as `gradus inspect --json` prints them. Takes some milliseconds to
/// measure the machine, for the times to expect.
nlohmann::ordered_json artifactJson(const runtime::Artifact &artifact);

} // namespace gradus::cli
