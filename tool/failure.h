// Ends a command of the tool early, with one line of text and an exit code.
//
// Exceptions are on in this folder; everything below it returns a Status.

#pragma once

#include "runtime/status.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace gradus::cli {

enum ExitCode {
  kDone = 0,
  kFailedWhileRunning = 1,
  kBadInput = 2,
  kInterrupted = 130,
};

struct Failure : std::runtime_error {
  Failure(ExitCode code, const std::string &words)
      : std::runtime_error(words), code(code) {}
  ExitCode code;
};

/// A mistake of the user or in a file.
template <typename... Parts> Failure badInput(const Parts &...parts) {
  return Failure(kBadInput, absl::StrCat(parts...));
}

/// A failure while running.
template <typename... Parts> Failure failed(const Parts &...parts) {
  return Failure(kFailedWhileRunning, absl::StrCat(parts...));
}

/// Converts a status to a Failure.
Failure failureOf(const runtime::Status &status);

/// Throws a Failure if a status is an error. The runtime and the compiler have
/// one type each.
void check(const runtime::Status &status);
void check(const absl::Status &status);

/// Throws a Failure with the name of the option, or of what else it is about,
/// in front.
void checkOf(const std::string &option, const runtime::Status &status);

/// Returns the value, or throws.
template <typename Result> auto take(Result result) {
  check(result.status());
  return *std::move(result);
}

} // namespace gradus::cli
