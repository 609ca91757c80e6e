// Maps errors of the layers below to exit codes.

#include "tool/failure.h"

namespace gradus::cli {

static ExitCode exitCode(runtime::StatusCode code) {
  switch (code) {
  case runtime::StatusCode::cancelled:
    return kInterrupted;
  case runtime::StatusCode::failed:
    return kFailedWhileRunning;
  default:
    return kBadInput;
  }
}

static ExitCode exitCode(absl::StatusCode code) {
  switch (code) {
  case absl::StatusCode::kCancelled:
    return kInterrupted;
  case absl::StatusCode::kInternal:
  case absl::StatusCode::kUnknown:
  case absl::StatusCode::kAborted:
  case absl::StatusCode::kResourceExhausted:
  case absl::StatusCode::kUnavailable:
    return kFailedWhileRunning;
  default:
    return kBadInput;
  }
}

Failure failureOf(const runtime::Status &status) {
  return Failure(exitCode(status.code()), status.message());
}

void check(const runtime::Status &status) {
  if (!status.ok())
    throw failureOf(status);
}

void checkOf(const std::string &option, const runtime::Status &status) {
  if (!status.ok())
    check(runtime::Status(status.code(), option + " " + status.message()));
}

void check(const absl::Status &status) {
  if (!status.ok())
    throw Failure(exitCode(status.code()), std::string(status.message()));
}

} // namespace gradus::cli
