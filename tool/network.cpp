// Reads rates and latencies with their units.

#include "tool/network.h"

#include "tool/text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <utility>
#include <vector>

using gradus::runtime::Network;

namespace gradus::cli {

namespace {

/// The limits of a rate, in bytes a second. With a slower network the time of a
/// sum has too many nanoseconds to be counted.
constexpr double kSlowest = 1e3, kFastest = 1e15;

/// The bytes a second of "25GB/s" or "100Mb/s"; nothing for other text.
std::optional<double> rateOf(const std::string &text) {
  constexpr std::pair<const char *, double> kUnits[] = {
      {"GB/s", 1e9},     {"MB/s", 1e6},     {"kB/s", 1e3},
      {"Gb/s", 1e9 / 8}, {"Mb/s", 1e6 / 8}, {"kb/s", 1e3 / 8}};
  double rate;
  for (auto [unit, bytes] : kUnits)
    if (text.ends_with(unit) &&
        absl::SimpleAtod(text.substr(0, text.size() - 4), &rate) &&
        rate * bytes >= kSlowest && rate * bytes <= kFastest)
      return rate * bytes;
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> latencyOf(const std::string &text) {
  constexpr std::pair<const char *, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
  double time;
  for (auto [unit, nanoseconds] : kUnits)
    if (text.ends_with(unit) &&
        absl::SimpleAtod(text.substr(0, text.size() - 2), &time) && time >= 0 &&
        time * nanoseconds < 1e12)
      return std::chrono::nanoseconds(static_cast<int64_t>(time * nanoseconds));
  return std::nullopt;
}

} // namespace

std::optional<Network> networkOf(const std::string &text) {
  std::vector<std::string> parts = absl::StrSplit(text, ',');
  auto rate = rateOf(parts[0]);
  auto latency =
      parts.size() == 2 ? latencyOf(parts[1]) : std::chrono::nanoseconds(0);
  if (parts.size() > 2 || !rate || !latency)
    return std::nullopt;
  return Network{*rate, *latency};
}

CLI::Option *addNetworkOption(CLI::App &command, Network &network,
                              const std::string &description) {
  auto words = [](const std::string &text) -> std::string {
    return networkOf(text)
               ? ""
               : "expected a rate of 1kB/s or more and a latency, such as "
                 "25GB/s,5us or 10Gb/s; found " +
                     text;
  };
  return command
      .add_option_function<std::string>(
          "--network",
          [&network](const std::string &text) { network = *networkOf(text); },
          description)
      ->check(CLI::Validator(words, "RATE,TIME"));
}

nlohmann::ordered_json networkJson(const Network &network) {
  return {{"bytes_per_s", network.bytesPerSecond},
          {"us_latency",
           std::chrono::duration<double, std::micro>(network.latency).count()}};
}

std::string networkText(const nlohmann::ordered_json &network) {
  return absl::StrCat(rateText(network["bytes_per_s"].get<double>()), ", ",
                      durationText(network["us_latency"].get<double>() * 1e-6),
                      network.contains("hosts")
                          ? ", all ranks on one host (adasum.within)"
                          : "");
}

} // namespace gradus::cli
