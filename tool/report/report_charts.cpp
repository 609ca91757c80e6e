// Coordinates are 1000 wide and as high as the chart says; the browser
// stretches them.

#include "tool/report/report_charts.h"

#include "tool/report/html.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

constexpr double kWidth = 1000;
constexpr size_t kShades = 6; // classes v0 to v5

std::string coordinate(double value) { return number("%.2f", value); }

std::string svg(int height, const std::string &label,
                const std::string &content) {
  return absl::StrCat("<svg viewBox=\"0 0 1000 ", height,
                      "\" preserveAspectRatio=\"none\" style=\"height:", height,
                      "px\" role=\"img\" aria-label=\"", escaped(label), "\">",
                      content, "</svg>\n");
}

/// Labels the upper edge of a chart.
std::string above(const std::string &edge, const std::string &what) {
  return "<div class=\"axis top\"><span>" + edge + "</span><span>" + what +
         "</span></div>\n";
}

std::string rectangle(double x, double y, double width, double height,
                      const std::string &style, const std::string &title = "") {
  std::string place =
      absl::StrCat("x=\"", coordinate(x), "\" y=\"", coordinate(y),
                   "\" width=\"", coordinate(width), "\" height=\"",
                   coordinate(height), "\" class=\"", style, "\"");
  return element("rect", place,
                 title.empty() ? "" : element("title", "", escaped(title)));
}

std::string verticalLine(double x, int height) {
  return absl::StrCat("<line x1=\"", coordinate(x), "\" x2=\"", coordinate(x),
                      "\" y1=\"0\" y2=\"", height, "\" class=\"peak\"></line>");
}

//===-- memory ------------------------------------------------------------===//

constexpr int kAreaHeight = 130, kMapHeight = 230;

struct MemoryScale {
  double commands, bytes;
  double x(double command) const { return command / commands * kWidth; }
  double y(double byte, int height) const {
    return height - byte / bytes * height;
  }
};

std::string areaOf(const ordered_json &live, const MemoryScale &scale) {
  std::string path = absl::StrCat("M0 ", kAreaHeight);
  for (size_t i = 0; i < live.size(); ++i)
    path += absl::StrCat(
        "V", coordinate(scale.y(live[i].get<double>(), kAreaHeight)), "H",
        coordinate(scale.x(i + 1)));
  return absl::StrCat("<path d=\"", path, "V", kAreaHeight,
                      "Z\" class=\"area\"></path>");
}

std::string bufferTitle(const ordered_json &entry) {
  return absl::StrCat(
      entry["use"].get<std::string>(), "\n", entry["type"].get<std::string>(),
      ", ", bytesText(entry["size"].get<double>()), "\ncommands ",
      entry["first"].get<int>(), " to ", entry["last"].get<int>());
}

std::string mapOf(const ordered_json &graph, const MemoryScale &scale) {
  std::string html;
  int peak = graph["peak_command"].get<int>();
  for (const ordered_json &entry : graph["map"]) {
    if (entry["region"] != "arena")
      continue;
    int first = entry["first"].get<int>(), last = entry["last"].get<int>();
    double end = entry["offset"].get<double>() + entry["size"].get<double>();
    double left = scale.x(first), top = scale.y(end, kMapHeight);
    double width = std::min(scale.x(last + 1), kWidth) - left;
    double height = scale.y(entry["offset"].get<double>(), kMapHeight) - top;
    html += rectangle(left, top, width, height,
                      first <= peak && last >= peak ? "buffer live" : "buffer",
                      bufferTitle(entry));
  }
  return html;
}

} // namespace

std::string memoryChart(const ordered_json &graph, uint64_t arenaBytes) {
  const ordered_json &live = graph["live_bytes"];
  MemoryScale scale{std::max<double>(1, live.size()),
                    std::max<double>(1, arenaBytes)};
  double peak = scale.x(graph["peak_command"].get<int>() + 0.5);
  std::string arena = bytesText(arenaBytes);
  return above(arena, "in use") + "<div class=\"chart\">" +
         svg(kAreaHeight, "Bytes in use at each command",
             areaOf(live, scale) + verticalLine(peak, kAreaHeight)) +
         "</div>\n" + above(arena, "addresses") + "<div class=\"chart\">" +
         svg(kMapHeight, "Which buffer lies where, at each command",
             mapOf(graph, scale) + verticalLine(peak, kMapHeight)) +
         "</div>\n<div class=\"axis\"><span>command 0</span><span>command " +
         std::to_string(live.empty() ? 0 : live.size() - 1) + "</span></div>\n";
}

std::string rateChart(const ordered_json &points) {
  constexpr int kHeight = 130;
  double most = 0, last = 1;
  for (const ordered_json &point : points) {
    most = std::max(most, point[1].get<double>());
    last = std::max(last, point[0].get<double>());
  }
  std::string path;
  for (const ordered_json &point : points)
    path +=
        absl::StrCat(path.empty() ? "M" : "L",
                     coordinate(point[0].get<double>() / last * kWidth), " ",
                     coordinate(kHeight - 2 -
                                point[1].get<double>() /
                                    std::max(most, 1e-300) * (kHeight - 4)));
  return above(number("%g", most), "learning rate") + "<div class=\"chart\">" +
         svg(kHeight, "Learning rate by step",
             "<path d=\"" + path + "\" class=\"line\"></path>") +
         "</div>\n<div class=\"axis\"><span>step 0</span><span>step " +
         number("%.0f", last) + "</span></div>\n";
}

std::string variantClass(size_t variant, size_t variants) {
  // If there are many, those after the first share the other shades.
  size_t shade = variants <= kShades || variant == 0
                     ? variant
                     : 1 + (variant - 1) * (kShades - 2) / (variants - 2);
  return "v" + std::to_string(shade);
}

std::string shareBar(const ordered_json &shares) {
  double left = 0;
  std::string html;
  for (size_t i = 0; i < shares.size(); ++i) {
    double width = shares[i].get<double>() * kWidth;
    html += rectangle(left, 0, width, 18, variantClass(i, shares.size()));
    left += width;
  }
  return svg(18, "Share of the steps of each variant", html);
}

std::string stepStrip(const ordered_json &steps, size_t variants) {
  std::string html;
  double width = kWidth / std::max<double>(1, steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    html += rectangle(i * width, 0, width, 18,
                      variantClass(steps[i].get<size_t>(), variants));
  return svg(18, "Variant of each of the first steps", html);
}

} // namespace gradus::cli
