// Puts the data into the page so that no text in them can end the element.

#include "tool/report/page.h"

#include "messages/json_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

using nlohmann::ordered_json;

namespace gradus::cli {

static constexpr int kVersion = 1; // of the form of the data

static const char *const kPage =
#include "tool/report/template.inc"
    ;

ordered_json reportHead(const std::string &kind) {
  return {{"format", "gradus.report"}, {"version", kVersion}, {"kind", kind}};
}

/// JSON in which no text is markup, and no character ends a line of a script.
static std::string scriptText(const ordered_json &data) {
  return absl::StrReplaceAll(jsonText(data), {{"<", "\\u003c"},
                                              {"\xe2\x80\xa8", "\\u2028"},
                                              {"\xe2\x80\xa9", "\\u2029"}});
}

std::string reportText(const std::string &path, const ordered_json &data) {
  if (absl::EndsWith(path, ".json"))
    return jsonText(data, 1) + "\n";
  return absl::StrReplaceAll(kPage, {{"@DATA@", scriptText(data)}});
}

} // namespace gradus::cli
