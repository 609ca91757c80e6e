// A progress bar on a terminal; elsewhere a line on stderr after ten seconds
// without output.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gradus::cli {

class Progress {
public:
  /// Shows progress through `total` steps, of which `start` are done; a bar
  /// only if `enabled`, else a line every `quiet` seconds.
  Progress(int64_t total, int64_t start, bool enabled, double quiet = 10);
  ~Progress();

  /// Draws the bar, at most ten times a second, or prints the line.
  void update(int64_t done, const std::string &figures);
  /// Removes the bar, so that a line can be printed, and waits some seconds
  /// before the next.
  void clear();

  static bool onTerminal();

private:
  std::string timesText(int64_t done) const;

  int64_t total_, start_;
  bool enabled_, shown_ = false;
  double quiet_;
  std::chrono::steady_clock::time_point began_, drawn_;
};

/// A bar "[#####.....]", `width` wide inside.
std::string bar(double fraction, int width);

/// A bar, `times` and `figures` in a line of at most `width` letters. The bar
/// shrinks first, then the figures are cut: the times are always visible.
std::string progressLine(double fraction, const std::string &times,
                         const std::string &figures, size_t width);

} // namespace gradus::cli
