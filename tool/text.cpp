// Shortens numbers and pads columns.

#include "tool/text.h"

#include "messages/printable.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>

namespace gradus::cli {

std::string number(const char *format, double value) {
  char text[64];
  if (std::isnan(value)) // its sign means nothing
    value = std::numeric_limits<double>::quiet_NaN();
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string bytesText(double bytes) {
  static constexpr const char *kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return number("%.0f B", bytes);
  int unit = -1;
  for (; bytes >= 1024 && unit < 3; ++unit)
    bytes /= 1024;
  return number(bytes < 100 ? "%.1f " : "%.0f ", bytes) + kUnits[unit];
}

std::string rateText(double bytesPerSecond) {
  return bytesPerSecond < 1e9 ? number("%.3g MB/s", bytesPerSecond * 1e-6)
                              : number("%.3g GB/s", bytesPerSecond * 1e-9);
}

std::string durationText(double seconds) {
  if (seconds < 1e-4)
    return number("%.1f us", seconds * 1e6);
  if (seconds < 1)
    return number(seconds < 0.1 ? "%.3f ms" : "%.0f ms", seconds * 1e3);
  return number("%.2f s", seconds);
}

std::string millisecondsText(double milliseconds) {
  return number(milliseconds < 0.1  ? "%.4f"
                : milliseconds < 10 ? "%.3f"
                                    : "%.1f",
                milliseconds);
}

std::string clockText(double seconds) {
  int64_t whole = static_cast<int64_t>(seconds + 0.5);
  int hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  char text[32];
  if (hours)
    std::snprintf(text, sizeof(text), "%d:%02d:%02d", hours, minutes, rest);
  else if (minutes)
    std::snprintf(text, sizeof(text), "%d:%02d", minutes, rest);
  else
    std::snprintf(text, sizeof(text), "%ds", rest);
  return text;
}

std::string countText(double count) {
  static constexpr const char *kUnits[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  for (; count >= 1000 && unit < 4; ++unit)
    count /= 1000;
  return number(unit == 0     ? "%.0f"
                : count < 100 ? "%.1f"
                              : "%.0f",
                count) +
         kUnits[unit];
}

static HeardWords *hearing = nullptr;

HeardWords::HeardWords() { hearing = this; }
HeardWords::~HeardWords() { hearing = nullptr; }

void HeardWords::add(training::Remark kind, const std::string &words) {
  constexpr size_t kMost = 200;
  if (said_.size() < kMost)
    said_.push_back({kind, words});
  else
    ++leftOut_;
}

static void hear(training::Remark kind, const std::string &words) {
  if (hearing)
    hearing->add(kind, words);
}

static thread_local bool isSilent = false;

Silence::Silence(bool on) : before_(isSilent) { isSilent = on; }
Silence::~Silence() { isSilent = before_; }

void warn(const std::string &words) {
  if (isSilent)
    return;
  hear(training::Remark::warning, words);
  std::fprintf(stderr, "warning: %s\n", printableLines(words).c_str());
}

void note(const std::string &words) {
  if (isSilent)
    return;
  hear(training::Remark::note, words);
  std::fprintf(stderr, "note: %s\n", printableLines(words).c_str());
}

void tell(training::Remark kind, const std::string &words) {
  kind == training::Remark::warning ? warn(words) : note(words);
}

Table::Table(std::vector<std::string> header) : hasHeader_(!header.empty()) {
  if (hasHeader_)
    row(std::move(header));
}

void Table::row(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = printable(cell);
  rows_.push_back(std::move(cells));
}

static bool isNumber(const std::string &cell) {
  return !cell.empty() &&
         (std::isdigit(static_cast<unsigned char>(cell[0])) || cell[0] == '-');
}

/// Whether every cell below the header begins like a number.
static bool isNumeric(const std::vector<std::vector<std::string>> &rows,
                      size_t column, bool hasHeader) {
  for (size_t i = hasHeader; i < rows.size(); ++i)
    if (column < rows[i].size() && !rows[i][column].empty() &&
        !isNumber(rows[i][column]))
      return false;
  return true;
}

std::string Table::text(const std::string &indent) const {
  std::vector<size_t> widths;
  for (const auto &row : rows_)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const auto &row : rows_) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string padding(widths[i] - row[i].size(), ' ');
      bool right = hasHeader_ && isNumeric(rows_, i, hasHeader_);
      line += (right ? padding + row[i] : row[i] + padding) + "  ";
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

} // namespace gradus::cli
