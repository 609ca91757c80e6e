// Numbers and tables for people.

#pragma once

#include "training/remark.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// Bytes with a unit: "812 B", "1.4 MiB", "3.2 GiB".
std::string bytesText(double bytes);
/// A rate in bytes with a unit: "812 MB/s", "12.5 GB/s".
std::string rateText(double bytesPerSecond);
/// A duration with a unit: "8.1 us", "0.290 ms", "1.25 s".
std::string durationText(double seconds);
/// Milliseconds in about four digits, without the unit: "0.0421", "1.250",
/// "312.5".
std::string millisecondsText(double milliseconds);
/// Remaining time in whole seconds: "12s", "3:05", "1:02:03".
std::string clockText(double seconds);
/// A count with a unit: "44.4k", "25.6M".
std::string countText(double count);
/// Formats one number with printf.
std::string number(const char *format, double value);

/// Prints "warning: ..." on stderr; characters that move a terminal's cursor
/// are escaped.
void warn(const std::string &words);
/// Prints "note: ..." in the same way.
void note(const std::string &words);

/// Prints what the training library has to say in the same way.
void tell(training::Remark kind, const std::string &words);

/// Lets a thread print none of these while it lives: the other ranks of a run
/// say the same as the first.
class Silence {
public:
  explicit Silence(bool on);
  ~Silence();
  Silence(const Silence &) = delete;

private:
  bool before_;
};

/// Keeps what is told by these while it lives, for a report; one at a time.
class HeardWords {
public:
  struct Said {
    training::Remark kind;
    std::string words;
  };
  HeardWords();
  ~HeardWords();
  HeardWords(const HeardWords &) = delete;

  /// The list has the first 200; later ones are only counted.
  const std::vector<Said> &said() const { return said_; }
  int64_t leftOut() const { return leftOut_; }
  void add(training::Remark kind, const std::string &words);

private:
  std::vector<Said> said_;
  int64_t leftOut_ = 0;
};

/// A table of text: columns are padded; numbers are right-aligned. Characters
/// that move a terminal's cursor are escaped.
class Table {
public:
  explicit Table(std::vector<std::string> header = {});
  void row(std::vector<std::string> cells);
  std::string text(const std::string &indent = "  ") const;

private:
  std::vector<std::vector<std::string>> rows_;
  bool hasHeader_;
};

} // namespace gradus::cli
