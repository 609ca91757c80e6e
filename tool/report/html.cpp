// Escaping and the few elements of reports.

#include "tool/report/html.h"

namespace gradus::cli {

static std::string escapedByte(char byte) {
  switch (byte) {
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
  auto code = static_cast<unsigned char>(byte);
  bool isControl =
      (code < 0x20 && byte != '\n' && byte != '\t') || code == 0x7f;
  return isControl ? "\xef\xbf\xbd" : std::string(1, byte);
}

std::string escaped(const std::string &text) {
  std::string out;
  for (char byte : text)
    out += escapedByte(byte);
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

std::string figure(const std::string &name, const std::string &value,
                   const std::string &note) {
  return "<div>" + element("dt", "", escaped(name)) +
         element("dd", "",
                 escaped(value) + element("small", "", escaped(note))) +
         "</div>\n";
}

std::string folded(const std::string &summary, const std::string &content,
                   bool open) {
  return element("details", open ? "open" : "",
                 element("summary", "", summary) + "\n" + content) +
         "\n";
}

} // namespace gradus::cli
