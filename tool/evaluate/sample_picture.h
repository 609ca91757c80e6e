// Pictures of samples, for reports.

#pragma once

#include "runtime/session/session.h"

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// The axes of an input whose samples are images: f32, [N, C, H, W] or [N, H,
/// W, C] with 1 or 3 channels and at least 4 x 4 pixels. An input [N, H, W] may
/// as well hold sequences of features, so it counts only if its data are
/// pixels.
struct PictureShape {
  int64_t channels = 1, height = 0, width = 0;
  bool channelsLast = false;

  static std::optional<PictureShape> of(const runtime::TensorType &type,
                                        bool isOfPixels = false);
};

/// The sample at index `place` of a batch as a PNG in text. Its values are
/// stretched from the least to the greatest; larger images are made smaller, to
/// at most 96 pixels a side, by means of whole blocks, which are square unless
/// the image is thinner than a block.
std::string samplePicture(const PictureShape &shape, const float *batch,
                          int64_t place);

} // namespace gradus::cli
