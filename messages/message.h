// Builds error messages, and passes absl's errors on:
// GRADUS_RETURN_IF_ERROR(status) returns a failure, and
// GRADUS_ASSIGN_OR_RETURN(lhs, statusOr) assigns the value or returns the
// failure.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <sstream>
#include <string>

namespace gradus {

template <typename... Part> std::string message(const Part &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <typename Names>
std::string joined(const Names &names, const char *separator = ", ") {
  std::ostringstream stream;
  const char *before = "";
  for (const auto &name : names) {
    stream << before << name;
    before = separator;
  }
  return stream.str();
}

/// The status of a caller's mistake.
template <typename... Part> absl::Status invalid(const Part &...parts) {
  return absl::InvalidArgumentError(message(parts...));
}

} // namespace gradus

#define GRADUS_RETURN_IF_ERROR(...)                                            \
  if (absl::Status status = (__VA_ARGS__); !status.ok())                       \
  return status

#define GRADUS_UNIQUE_NAME(name, line) GRADUS_JOIN_NAMES(name, line)
#define GRADUS_JOIN_NAMES(name, line) name##line
#define GRADUS_ASSIGN_OR_RETURN(lhs, ...)                                      \
  GRADUS_ASSIGN_THROUGH(GRADUS_UNIQUE_NAME(statusOr, __LINE__), lhs,           \
                        __VA_ARGS__)
#define GRADUS_ASSIGN_THROUGH(result, lhs, ...)                                \
  auto result = (__VA_ARGS__);                                                 \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  lhs = *std::move(result)
