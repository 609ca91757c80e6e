// What an artifact contains, as JSON: graphs, commands, memory, costs.

#pragma once

#include "runtime/artifact/artifact.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// "cpu:amx", or "cuda (sm_90, emulated)" with the images of the plan.
std::string targetText(const artifact::Plan &plan);

/// The libraries that a plan calls, by how many different calls, and how many
/// of those have what with a product: [{"name": "cuBLASLt", "different_calls":
/// 3, "epilogues": {"bias+gelu_tanh": 1}}].
nlohmann::ordered_json librariesOf(const artifact::Plan &plan);
/// "cuBLASLt (3 different calls, 1 with bias+gelu_tanh), cuDNN (1 call)"
std::string librariesText(const nlohmann::ordered_json &libraries);

/// Keys as `gradus inspect --json` prints them. Times to expect are of each
/// device in a plan's `rates`, in their order: of this machine, which is
/// measured in some milliseconds, or of the known cards that the plan has code
/// for.
nlohmann::ordered_json artifactJson(const runtime::Artifact &artifact);

} // namespace gradus::cli
