// How inputs with a structure are changed: what each target of such defines,
// and structure_mutator.cpp offers to libFuzzer.

#pragma once

#include <cstdint>
#include <string>

namespace gradus::fuzz {

std::string edited(const std::string &input, uint64_t seed);

/// With parts of a donor.
std::string grafted(const std::string &input, const std::string &donor,
                    uint64_t seed);

} // namespace gradus::fuzz
