// Pieces of a page; every text goes through escaped().

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// Escapes UTF-8 for an element or a quoted attribute. Control characters
/// become U+FFFD.
std::string escaped(const std::string &text);

/// Returns <name attributes>content</name>; `content` and `attributes` are
/// HTML.
std::string element(const std::string &name, const std::string &attributes,
                    const std::string &content);

/// A table in a frame of its own that scrolls if it is too wide. A `#` before a
/// title marks a column of numbers.
class HtmlTable {
public:
  explicit HtmlTable(const std::vector<std::string> &titles);
  /// Adds a row; cells are HTML.
  void row(const std::vector<std::string> &cells,
           const std::string &rowClass = "");
  /// Adds a heading across all columns.
  void section(const std::string &text);
  std::string html() const;

private:
  std::vector<bool> isNumber_;
  std::string head_, body_;
};

/// An item of a list of figures: a value with its name and a note below. All
/// are text.
std::string figure(const std::string &name, const std::string &value,
                   const std::string &note);

/// A folded part that opens without a script.
std::string folded(const std::string &summary, const std::string &content,
                   bool open = false);

} // namespace gradus::cli
