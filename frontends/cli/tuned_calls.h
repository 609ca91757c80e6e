// Which calls of libraries in an artifact have an algorithm that was measured.

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/artifact.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::cli {

/// Different calls of libraries in an artifact's plans for GPUs, how many of
/// them have a choice, and how many one for each card.
struct TunedCount {
  size_t calls = 0, tuned = 0;
  std::map<std::string, size_t> ofCard;

  /// "3 of 5 calls of libraries on NVIDIA H200, 2 of 5 on NVIDIA B200"
  std::string text() const;
};
TunedCount countTuned(const runtime::Artifact &artifact);

/// What was measured on a card and serves nothing is a mistake: of the target,
/// of the model, or of a size. A line for each.
std::vector<std::string>
warningsOfUnused(const std::vector<compiler::TunedChoice> &measured,
                 const runtime::Artifact &artifact);

} // namespace gradus::cli
