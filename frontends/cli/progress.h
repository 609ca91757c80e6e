// A progress bar on a terminal; nothing elsewhere.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gradus::cli {

class Progress {
public:
  /// Of `total` steps, of which `start` are done; shown only where `enabled`.
  Progress(int64_t total, int64_t start, bool enabled);
  ~Progress();

  /// Draws the bar, at most ten times a second.
  void update(int64_t done, const std::string &figures);
  /// Takes the bar away, so that a line can be printed.
  void clear();

  static bool onTerminal();

private:
  int64_t total_, start_;
  bool enabled_, shown_ = false;
  std::chrono::steady_clock::time_point began_, drawn_;
};

/// "[#####.....]", `width` wide inside.
std::string bar(double fraction, int width);

} // namespace gradus::cli
