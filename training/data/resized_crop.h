// Chooses the part of an image for a random resized crop: torchvision's rule
// (RandomResizedCrop.get_params), after Szegedy et al., "Going Deeper with
// Convolutions", https://arxiv.org/abs/1409.4842, section 6.

#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace gradus::data {

/// Bounds of the part's share of the image's area, and of width / height.
struct ResizedCrop {
  std::array<double, 2> scale = {0.08, 1.0}, ratio = {3.0 / 4, 4.0 / 3};
  /// Decodes JPEG files at the smallest scale at which the part is no smaller
  /// than the input; otherwise in full.
  bool scaledDecoding = true;
};

/// A part of an image.
struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

/// Chooses a box inside height x width pixels. `uniform` gives numbers in [0,
/// 1): each try uses one for its area and one for its ratio, and the first of
/// ten tries that fits uses two more for its position. If none fits, the box is
/// the middle, as large as the ratio allows.
Box cropBox(const ResizedCrop &crop, int64_t height, int64_t width,
            const std::function<double()> &uniform);

/// Chooses a box with the random numbers of a sample's draw.
Box cropBox(const ResizedCrop &crop, int64_t height, int64_t width,
            uint64_t draw);

} // namespace gradus::data
