// The fastest algorithms of libraries, as measured.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradus {

/// Corresponds to artifact::LibraryChoice.
struct TunedAlgorithm {
  std::string card, library, algorithm;
};

/// The algorithms of each call, at most one per GPU, by the call's text
/// (runtime/library_text.h).
using Tuning = std::map<std::string, std::vector<TunedAlgorithm>>;

} // namespace gradus
