// Draws one line over itself, cut to the terminal's width.

#include "tool/progress.h"

#include "messages/printable.h"
#include "tool/text.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gradus::cli {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static size_t terminalWidth() {
  winsize size = {};
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string bar(double fraction, int width) {
  int full = std::clamp(static_cast<int>(fraction * width + 0.5), 0, width);
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

Progress::Progress(int64_t total, int64_t start, bool enabled, double quiet)
    : total_(total), start_(start), enabled_(enabled), quiet_(quiet),
      began_(Clock::now()), drawn_(began_) {}

Progress::~Progress() { clear(); }

bool Progress::onTerminal() { return isatty(STDOUT_FILENO); }

std::string progressLine(double fraction, const std::string &times,
                         const std::string &figures, size_t width) {
  constexpr int kWidest = 24, kNarrowest = 8;
  std::string text = times + "  " + figures;
  auto inside = [&](const std::string &beside) { // width of the bar
    return static_cast<int>(width) - static_cast<int>(beside.size() + 3);
  };
  int wide = std::min(inside(text), kWidest);
  if (wide < kNarrowest)
    wide = std::min(inside(times), kNarrowest);
  std::string line =
      wide < kNarrowest ? text : bar(fraction, wide) + " " + text;
  return line.substr(0, width);
}

/// The step and times in words: "step 50/100  3 ms/step  0:10 left".
std::string Progress::timesText(int64_t done) const {
  double perStep = secondsSince(began_) / std::max<int64_t>(1, done - start_);
  return "step " + std::to_string(done) + "/" + std::to_string(total_) + "  " +
         durationText(perStep) + "/step  " +
         clockText(perStep * (total_ - done)) + " left";
}

void Progress::update(int64_t done, const std::string &metrics) {
  std::string figures = printable(metrics);
  double wait = !enabled_ ? quiet_ : shown_ ? 0.1 : 0;
  if (secondsSince(drawn_) < wait)
    return;
  drawn_ = Clock::now();
  if (!enabled_) {
    std::fprintf(stderr, "%s  %s\n", timesText(done).c_str(), figures.c_str());
    return;
  }
  shown_ = true;
  std::string line =
      progressLine(double(done) / std::max<int64_t>(1, total_), timesText(done),
                   figures, terminalWidth() - 1);
  std::printf("\r\x1b[K%s", line.c_str());
  std::fflush(stdout);
}

void Progress::clear() {
  if (shown_)
    std::printf("\r\x1b[K");
  std::fflush(stdout);
  shown_ = false;
  drawn_ = Clock::now();
}

} // namespace gradus::cli
