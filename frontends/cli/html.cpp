// Escaping and the few elements that reports are made of.

#include "frontends/cli/html.h"

#include <cstdint>

namespace gradus::cli {

/// Bytes of the character that begins here; 0 where there is none.
static size_t lengthOfCharacter(const std::string &text, size_t at) {
  auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  uint8_t first = byte(at);
  size_t length = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80)
      return 0;
  bool isControl = first < 0x20 && first != '\n' && first != '\t';
  return isControl || first == 0x7f ? 0 : length;
}

static std::string escapedCharacter(const std::string &text, size_t at,
                                    size_t length) {
  switch (text[at]) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  }
  return text.substr(at, length);
}

std::string escaped(const std::string &text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t length = lengthOfCharacter(text, at);
    out += length ? escapedCharacter(text, at, length) : "\xef\xbf\xbd";
    at += length ? length : 1;
  }
  return out;
}

std::string element(const std::string &name, const std::string &attributes,
                    const std::string &content) {
  return "<" + name + (attributes.empty() ? "" : " " + attributes) + ">" +
         content + "</" + name + ">";
}

HtmlTable::HtmlTable(const std::vector<std::string> &titles) {
  for (const std::string &title : titles) {
    bool isNumber = !title.empty() && title[0] == '#';
    isNumber_.push_back(isNumber);
    head_ +=
        element("th", isNumber ? "scope=\"col\" class=\"n\"" : "scope=\"col\"",
                escaped(isNumber ? title.substr(1) : title));
  }
}

void HtmlTable::row(const std::vector<std::string> &cells,
                    const std::string &rowClass) {
  std::string html;
  for (size_t i = 0; i < cells.size(); ++i)
    html +=
        element("td", i < isNumber_.size() && isNumber_[i] ? "class=\"n\"" : "",
                cells[i]);
  body_ += element("tr", rowClass.empty() ? "" : "class=\"" + rowClass + "\"",
                   html) +
           "\n";
}

void HtmlTable::section(const std::string &text) {
  body_ += "<tr class=\"section\"><th scope=\"rowgroup\" colspan=\"" +
           std::to_string(isNumber_.size()) + "\">" + escaped(text) +
           "</th></tr>\n";
}

std::string HtmlTable::html() const {
  return "<div class=\"scroll\"><table>\n<thead><tr>" + head_ +
         "</tr></thead>\n<tbody>\n" + body_ + "</tbody></table></div>\n";
}

std::string folded(const std::string &summary, const std::string &content,
                   bool open) {
  return element("details", open ? "open" : "",
                 element("summary", "", summary) + "\n" + content) +
         "\n";
}

} // namespace gradus::cli
