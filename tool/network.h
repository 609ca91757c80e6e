// The option --network of commands that simulate one or compute with one.

#pragma once

#include "runtime/collectives/network.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace gradus::cli {

/// The most ranks that a command may be asked for.
inline constexpr uint64_t kMostRanks = 4096;

/// The network of "25GB/s,5us": a rate and a latency, which may be left out.
/// Nothing for other text.
std::optional<runtime::Network> networkOf(const std::string &text);

/// Adds --network, which sets `network`.
CLI::Option *addNetworkOption(CLI::App &command, runtime::Network &network,
                              const std::string &description);

/// A network as JSON: `bytes_per_s` and `us_latency`.
nlohmann::ordered_json networkJson(const runtime::Network &network);
/// Words for it: "25 GB/s, 5.0 us", with ", all ranks on one host
/// (adasum.within)" where it has `hosts`.
std::string networkText(const nlohmann::ordered_json &network);

} // namespace gradus::cli
