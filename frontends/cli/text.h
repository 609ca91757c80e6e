// Numbers and tables as people read them.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// "812 B", "1.4 MiB", "3.2 GiB"
std::string bytesText(double bytes);
/// "8.1 us", "0.290 ms", "1.25 s"
std::string durationText(double seconds);
/// "0.0421", "1.250", "312.5": four digits or so, without the unit.
std::string millisecondsText(double milliseconds);
/// "12s", "3:05", "1:02:03": time left, in whole seconds.
std::string clockText(double seconds);
/// "44.4k", "25.6M"
std::string countText(double count);
/// printf of one number.
std::string number(const char *format, double value);

/// "warning: ...", on stderr; what would move a terminal's cursor is written
/// out.
void warn(const std::string &words);
/// "note: ...", in the same way.
void note(const std::string &words);

/// A table of text: columns are padded; numbers stand to the right. What would
/// move a terminal's cursor is written out.
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
