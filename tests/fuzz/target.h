// What is fuzzed: a target takes bytes that nobody vouches for, and says what
// became of them.
//
// A program is one target (NAME_target.cpp) with either libFuzzer, which makes
// inputs (entry.cpp and NAME_mutator.cpp), or replay.cpp, which reads those
// that are kept in tests/data/fuzz/NAME.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::fuzz {

using Bytes = std::vector<uint8_t>;

struct Outcome {
  enum Kind {
    taken,   // it was read, and what it holds was used
    refused, // in `words`
    skipped, // it is none that the target promises anything of
  };
  Kind kind = taken;
  std::string words = {};
};

/// Is called once, with the files and folders that inputs will come from.
void prepare(const std::vector<std::string> &paths);

/// A crash, a report of a sanitizer and a refusal without words are defects.
Outcome tryInput(std::span<const uint8_t> input);

/// A folder for this process, in memory where the system has such, that
/// vanishes with it.
const std::string &ownFolder();

/// The bytes of a file; empty where it cannot be read.
Bytes contentOf(const std::string &path);

/// The files that paths name, those of folders by name.
std::vector<std::string> filesAt(const std::vector<std::string> &paths);

} // namespace gradus::fuzz
