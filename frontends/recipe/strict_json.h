// JSON as a recipe has it: what would be read as something else is a mistake.

#pragma once

#include "absl/status/statusor.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace gradus::recipe {

/// Parses a text. A key that stands twice in one object, of which JSON keeps
/// the last silently, nesting that no recipe has, and a number that would
/// vanish are errors.
absl::StatusOr<nlohmann::ordered_json> parseStrictly(std::string_view text);

/// The first number of a JSON text that is not 0, but so small that it would be
/// read as 0: "1e-999". Empty where there is none.
std::string vanishingNumber(std::string_view text);

/// A value as JSON, cut where it is long.
std::string shown(const nlohmann::ordered_json &value);

/// The text between quotes.
std::string inQuotes(std::string_view text);

} // namespace gradus::recipe
