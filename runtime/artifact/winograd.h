// Commands that convolve by Winograd's algorithm, and what is to be known of
// their numbers (docs/precision.md).
#pragma once

#include <string_view>

namespace gradus::runtime {

/// The errors of such a convolution, and of the gradients that follow from it,
/// are at most this many times those of a direct one.
inline constexpr double kWinogradErrors = 4.5;

/// Whether a command of this name is one: plans say so in its name, that of a
/// transform for others included.
inline bool isWinograd(std::string_view command) {
  return command.find("winograd") != std::string_view::npos;
}

} // namespace gradus::runtime
