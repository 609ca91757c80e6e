// Values of inputs may be normalized in any way, so a picture spans its own
// range.

#include "tool/evaluate/sample_picture.h"

#include "training/data/png_text.h"

#include <algorithm>
#include <cmath>

namespace gradus::cli {

static constexpr int64_t kLargest = 96, kSmallest = 4; // pixels of a side

static bool isChannels(int64_t size) { return size == 1 || size == 3; }

std::optional<PictureShape> PictureShape::of(const runtime::TensorType &type,
                                             bool isOfPixels) {
  const std::vector<int64_t> &sizes = type.shape;
  PictureShape shape;
  if (type.dtype != runtime::DType::f32)
    return std::nullopt;
  if (sizes.size() == 3 && isOfPixels)
    shape = {1, sizes[1], sizes[2], false};
  else if (sizes.size() == 4 && isChannels(sizes[1]))
    shape = {sizes[1], sizes[2], sizes[3], false};
  else if (sizes.size() == 4 && isChannels(sizes[3]))
    shape = {sizes[3], sizes[1], sizes[2], true};
  else
    return std::nullopt;
  if (std::min(shape.height, shape.width) < kSmallest)
    return std::nullopt;
  return shape;
}

namespace {

/// The means of whole blocks of an image's pixels, channel by channel within a
/// pixel.
struct Blocks {
  int64_t width = 0, height = 0;
  std::vector<double> values;
};

Blocks blocksOf(const PictureShape &shape, const float *from) {
  int64_t longest = std::max(shape.height, shape.width);
  int64_t side = (longest + kLargest - 1) / kLargest;
  int64_t across = std::min(side, shape.width),
          down = std::min(side, shape.height);
  Blocks blocks{shape.width / across, shape.height / down, {}};
  auto valueAt = [&](int64_t y, int64_t x, int64_t c) {
    return double(shape.channelsLast
                      ? from[(y * shape.width + x) * shape.channels + c]
                      : from[(c * shape.height + y) * shape.width + x]);
  };
  auto meanAt = [&](int64_t y, int64_t x, int64_t c) {
    double sum = 0;
    for (int64_t i = 0; i < down * across; ++i)
      sum += valueAt(y * down + i / across, x * across + i % across, c);
    return sum / double(down * across);
  };
  for (int64_t y = 0; y < blocks.height; ++y)
    for (int64_t x = 0; x < blocks.width; ++x)
      for (int64_t c = 0; c < shape.channels; ++c)
        blocks.values.push_back(meanAt(y, x, c));
  return blocks;
}

} // namespace

std::string samplePicture(const PictureShape &shape, const float *batch,
                          int64_t place) {
  Blocks blocks = blocksOf(shape, batch + place * shape.channels *
                                              shape.height * shape.width);
  double low = INFINITY, high = -INFINITY;
  for (double value : blocks.values)
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  data::Image image{blocks.width, blocks.height, shape.channels, {}};
  for (double value : blocks.values) {
    double part = high > low ? (value - low) / (high - low) : 0.5;
    image.pixels.push_back(
        std::isfinite(part)
            ? static_cast<uint8_t>(std::clamp(part, 0.0, 1.0) * 255 + 0.5)
            : 0);
  }
  return pngText(image);
}

} // namespace gradus::cli
