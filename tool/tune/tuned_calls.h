// Counts the library calls of an artifact that have a measured algorithm.

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/artifact/artifact.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::cli {

/// The different library calls in an artifact's plans for GPUs, the number that
/// have a choice, and the number for each GPU.
struct TunedCount {
  size_t calls = 0, tuned = 0;
  std::map<std::string, size_t> ofCard;

  /// The counts in words: "3 of 5 calls of libraries on NVIDIA H200, 2 of 5 on
  /// NVIDIA B200".
  std::string text() const;
};
TunedCount countTuned(const runtime::Artifact &artifact);

/// Warns about measured choices that no call uses, which is a mistake in the
/// target, the model, or a size. One line each.
std::vector<std::string>
warningsOfUnused(const std::vector<compiler::TunedChoice> &measured,
                 const runtime::Artifact &artifact);

} // namespace gradus::cli
