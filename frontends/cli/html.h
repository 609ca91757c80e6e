// Pieces of a page: every text goes through escaped().

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// UTF-8 as it may stand in an element or in a quoted attribute. Control
/// characters become U+FFFD.
std::string escaped(const std::string &text);

/// <name attributes>content</name>; `content` is HTML, `attributes` too.
std::string element(const std::string &name, const std::string &attributes,
                    const std::string &content);

/// A table in a frame of its own that scrolls where it is too wide. Columns of
/// numbers are marked by a `#` before their title.
class HtmlTable {
public:
  explicit HtmlTable(const std::vector<std::string> &titles);
  /// Cells are HTML.
  void row(const std::vector<std::string> &cells,
           const std::string &rowClass = "");
  /// A heading across all columns.
  void section(const std::string &text);
  std::string html() const;

private:
  std::vector<bool> isNumber_;
  std::string head_, body_;
};

/// A figure with its name and a note below, an item of a list of them. All are
/// text.
std::string figure(const std::string &name, const std::string &value,
                   const std::string &note);

/// A folded part that opens without a script.
std::string folded(const std::string &summary, const std::string &content,
                   bool open = false);

} // namespace gradus::cli
