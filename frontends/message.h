// Words of errors: parts of any printable type, one after the other.
#pragma once

#include "absl/status/status.h"

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
