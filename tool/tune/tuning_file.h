// Files of algorithms that were measured to be the fastest: written by `tune`,
// read by `compile`.
//
//   {"format": 1, "card": "NVIDIA H200", "choices": [{"call": "matmul ...",
//     "library": "cublaslt 130100", "algorithm": "...", "microseconds": 8.1,
//     "default_microseconds": 9.4}]}

#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/device/device.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// The choices for one GPU, one for each call.
struct TuningFile {
  std::string card;
  std::vector<runtime::TunedCall> choices;

  /// Adds measured choices, replacing those for the same calls.
  void update(const std::vector<runtime::TunedCall> &measured);
  std::string text() const;
};

/// Reads a tuning file; throws a Failure if it is none.
TuningFile readTuningFile(const std::string &path);

/// The choices of all files; of two for the same call and GPU the later one.
std::vector<compiler::TunedChoice>
readTuningFiles(const std::vector<std::string> &paths);

} // namespace gradus::cli
