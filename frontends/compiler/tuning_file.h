// Files of algorithms that were measured to be the fastest: written by `tune`,
// read by `compile`. The tool compiles this file, too.
//
//   {"format": 1, "card": "NVIDIA H200", "choices": [{"call": "matmul ...",
//     "library": "cublaslt 130100", "algorithm": "...", "microseconds": 8.1,
//     "default_microseconds": 9.4}]}

#pragma once

#include "frontends/compiler/compiler.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace gradus::compiler {

/// The choice for a library call. Its times are for people.
struct MeasuredChoice {
  std::string call, library;
  std::string algorithm; // empty: the library's own choice is the fastest
  double microseconds = 0, defaultMicroseconds = 0;
};

/// The choices for one GPU, one for each call.
struct TuningFile {
  std::string card;
  std::vector<MeasuredChoice> choices;

  /// Adds measured choices, replacing those for the same calls.
  void update(const std::vector<MeasuredChoice> &measured);
  std::string text() const;
};

absl::StatusOr<TuningFile> readTuningFile(const std::string &path);

/// The choices of all files; of two for the same call and GPU the later one.
absl::StatusOr<std::vector<TunedChoice>>
readTuningFiles(const std::vector<std::string> &paths);

} // namespace gradus::compiler
