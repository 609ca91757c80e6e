// What a stub of a library is asked for, as it writes it down.
#pragma once

#include <string>

namespace {
std::string written;
} // namespace

/// What was asked for since the last call.
extern "C" const char *stubWritten() {
  static std::string given;
  given = std::move(written);
  written.clear();
  return given.c_str();
}
