// Errors as values: short ways to make them, pass them on and say where.
//
// invalid(...) is for what a caller or a file got wrong, failed(...) for what
// the machine did. Each caller on the way out puts in front where it happened:
//   lenet.gradus: plan 0: graph train: command 12 (adamw x10): ...

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include <utility>

namespace gradus::runtime {

template <typename... Parts> absl::Status invalid(const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename... Parts> absl::Status failed(const Parts &...parts) {
  return absl::InternalError(absl::StrCat(parts...));
}

/// Puts "where: " in front of a failure; success stays success.
template <typename... Parts>
absl::Status at(const absl::Status &status, const Parts &...where) {
  if (status.ok())
    return status;
  return absl::Status(status.code(),
                      absl::StrCat(where..., ": ", status.message()));
}

} // namespace gradus::runtime

#define GRADUS_JOIN_INNER(a, b) a##b
#define GRADUS_JOIN(a, b) GRADUS_JOIN_INNER(a, b)

/// Returns from the calling function where the status is a failure.
#define GRADUS_TRY(...)                                                        \
  do {                                                                         \
    if (absl::Status status = (__VA_ARGS__); !status.ok())                     \
      return status;                                                           \
  } while (false)

/// lhs = the value, or returns the failure.
#define GRADUS_ASSIGN(lhs, ...)                                                \
  GRADUS_ASSIGN_FROM(GRADUS_JOIN(result, __LINE__), lhs, __VA_ARGS__)
#define GRADUS_ASSIGN_FROM(result, lhs, ...)                                   \
  auto result = (__VA_ARGS__);                                                 \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  lhs = *std::move(result)
