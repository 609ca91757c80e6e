// Words of errors, and errors as values: GRADUS_TRY passes a failure on,
// GRADUS_ASSIGN(lhs, statusOr) takes the value or passes the failure on.
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

#ifndef GRADUS_TRY
#define GRADUS_JOIN_INNER(a, b) a##b
#define GRADUS_JOIN(a, b) GRADUS_JOIN_INNER(a, b)

#define GRADUS_TRY(...)                                                        \
  if (absl::Status status = (__VA_ARGS__); !status.ok())                       \
  return status

#define GRADUS_ASSIGN(lhs, ...)                                                \
  GRADUS_ASSIGN_FROM(GRADUS_JOIN(result, __LINE__), lhs, __VA_ARGS__)
#define GRADUS_ASSIGN_FROM(result, lhs, ...)                                   \
  auto result = (__VA_ARGS__);                                                 \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  lhs = *std::move(result)
#endif
