// A progress bar on a terminal; elsewhere a line on stderr where nothing was
// said for ten seconds.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gradus::cli {

class Progress {
public:
  /// Of `total` steps, of which `start` are done; a bar only where `enabled`,
  /// else a line every `quiet` seconds.
  Progress(int64_t total, int64_t start, bool enabled, double quiet = 10);
  ~Progress();

  /// Draws the bar, at most ten times a second, or prints the line.
  void update(int64_t done, const std::string &figures);
  /// Takes the bar away, so that a line can be printed, which says enough for
  /// the next seconds.
  void clear();

  static bool onTerminal();

private:
  std::string timesText(int64_t done) const;

  int64_t total_, start_;
  bool enabled_, shown_ = false;
  double quiet_;
  std::chrono::steady_clock::time_point began_, drawn_;
};

/// "[#####.....]", `width` wide inside.
std::string bar(double fraction, int width);

/// A bar, `times` and `figures` in a line of at most `width` letters. The bar
/// shrinks first, then figures are cut: how long it takes is always seen.
std::string progressLine(double fraction, const std::string &times,
                         const std::string &figures, size_t width);

} // namespace gradus::cli
