// Validators for the numbers that options take, with the same words for all.

#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>

namespace gradus::cli {

/// A validator for an integer, written only in decimal digits.
CLI::Validator wholeNumber(uint64_t least,
                           uint64_t most = std::numeric_limits<int64_t>::max());
/// A validator for a count: 1 or more.
CLI::Validator positive();
/// A validator for a measure: 0 or more.
CLI::Validator notNegative();
/// A validator for a duration: a number of seconds, without a unit.
CLI::Validator secondsBetween(double least, double most);
/// A validator for a part of a whole: above 0 and below 1.
CLI::Validator betweenZeroAndOne();

} // namespace gradus::cli
