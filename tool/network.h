// The option --network of commands that simulate one or compute with one.

#pragma once

#include "runtime/collectives/network.h"

#include <CLI/CLI.hpp>

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

} // namespace gradus::cli
