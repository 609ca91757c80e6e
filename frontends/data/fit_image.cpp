// Scales images, or parts of them, to an input's size.

#include "frontends/data/image_file.h"
#include "frontends/data/resize.h"

#include <algorithm>
#include <cmath>

namespace gradus::data {
namespace {

uint8_t greyOf(const uint8_t *rgb) {
  return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
}

/// Converts one channel of a part of the image to the input's channels.
std::vector<float> plane(const Image &image, const Box &box, int64_t channels,
                         int64_t channel) {
  std::vector<float> values;
  values.reserve(box.width * box.height);
  bool toGrey = channels == 1 && image.channels == 3;
  int64_t place = image.channels == 3 && !toGrey ? channel : 0;
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const uint8_t *row =
        &image.pixels[(y * image.width + box.left) * image.channels];
    for (int64_t x = 0; x < box.width; ++x) {
      const uint8_t *pixel = row + x * image.channels;
      values.push_back(toGrey ? greyOf(pixel) : pixel[place]);
    }
  }
  return values;
}

void scale(const Image &image, const Box &box, int64_t channels,
           const std::vector<Taps> &rows, const std::vector<Taps> &columns,
           float *to) {
  for (int64_t channel = 0; channel < channels; ++channel)
    resize(plane(image, box, channels, channel), box.width, rows, columns,
           1.0f / 255.0f, to + channel * rows.size() * columns.size());
}

} // namespace

void fitImage(const Image &image, int64_t channels, int64_t height,
              int64_t width, float *to) {
  double factor =
      std::max(double(width) / image.width, double(height) / image.height);
  auto scaled = [&](int64_t size, int64_t wanted) {
    return std::max<int64_t>(wanted, std::llround(size * factor));
  };
  scale(image, {0, 0, image.height, image.width}, channels,
        tapsOf(image.height, scaled(image.height, height), height),
        tapsOf(image.width, scaled(image.width, width), width), to);
}

void cropImage(const Image &image, const Box &box, int64_t channels,
               int64_t height, int64_t width, float *to) {
  scale(image, box, channels, tapsOf(box.height, height, height),
        tapsOf(box.width, width, width), to);
}

} // namespace gradus::data
