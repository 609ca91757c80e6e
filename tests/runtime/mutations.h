// Damaged artifacts, thousands of them: none may crash the runtime.
//
// Mutation k of a file is a function of (file, seed, k), so a failure can be
// repeated alone. With the hashes as stored, every change must be refused. With
// the hashes computed again, changes outside machine code must be refused or
// run without harm; each artifact that loads runs every graph once.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::test {

struct MutationCounts {
  int64_t refused = 0; // with an error in words
  int64_t ran = 0;     // loaded and ran every graph
};

/// Changes a file in one to three random places, which `seed` says.
void damage(std::vector<uint8_t> &file, uint64_t seed);

/// Makes a damaged artifact one that somebody forged: the machine code of the
/// whole one is back in its place, as code is trusted, and all hashes fit.
void forge(std::vector<uint8_t> &damaged, std::span<const uint8_t> whole);

/// Runs every graph of an artifact once, on one of two ranks with equal values;
/// empty, or what went wrong.
std::string runWhole(std::span<const uint8_t> artifact);

enum class Hashes { stored, recomputed };

/// Applies mutations [first, first + count) one at a time. Returns what was
/// wrong, with the number of the mutation; empty when nothing was.
std::string runMutations(std::span<const uint8_t> artifact, Hashes hashes,
                         uint64_t seed, int64_t first, int64_t count,
                         MutationCounts &counts);

} // namespace gradus::test
