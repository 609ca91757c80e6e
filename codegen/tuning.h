// Algorithms of libraries that were measured to be the fastest.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradus {

/// As artifact::LibraryChoice has it.
struct TunedAlgorithm {
  std::string card, library, algorithm;
};

/// At most one a card for each call, by its text (runtime/library_text.h).
using Tuning = std::map<std::string, std::vector<TunedAlgorithm>>;

} // namespace gradus
