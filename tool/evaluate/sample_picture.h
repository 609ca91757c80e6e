// Pictures of samples, for reports.

#pragma once

#include "runtime/session/session.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// The axes of an input whose samples are images: f32, [N, C, H, W], [N, H, W,
/// C] or [N, H, W] with 1 or 3 channels and at least 4 x 4 pixels.
struct PictureShape {
  int64_t channels = 1, height = 0, width = 0;
  bool channelsLast = false;

  static std::optional<PictureShape> of(const runtime::TensorType &type);
};

/// The sample at index `place` of a batch as a PNG in text. Its values are
/// stretched from the least to the greatest; larger images are made smaller, to
/// at most 96 pixels a side, by means of whole blocks.
std::string samplePicture(const PictureShape &shape, const float *batch,
                          int64_t place);

} // namespace gradus::cli
