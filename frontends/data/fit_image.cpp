// Scaling of images: along the rows, then along the columns, each by a triangle
// (which is bilinear where an image grows, and a mean where it shrinks).

#include "frontends/data/image_file.h"

#include <algorithm>
#include <cmath>

namespace gradus::data {
namespace {

/// The pixels that one pixel of the result is a mean of.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

/// Those of `wanted` pixels in the middle of `size` scaled to `scaled`.
std::vector<Taps> tapsOf(int64_t size, int64_t scaled, int64_t wanted) {
  double ratio = double(size) / scaled, reach = std::max(1.0, ratio);
  std::vector<Taps> all(wanted);
  for (int64_t i = 0; i < wanted; ++i) {
    double middle = ((scaled - wanted) / 2 + i + 0.5) * ratio;
    int64_t first = std::max<int64_t>(0, std::floor(middle - reach)),
            end = std::min<int64_t>(size, std::ceil(middle + reach));
    double sum = 0;
    std::vector<double> weights;
    for (int64_t x = first; x < end; ++x) {
      double far = std::abs(x + 0.5 - middle) / reach;
      weights.push_back(std::max(0.0, 1 - far));
      sum += weights.back();
    }
    all[i].first = first;
    for (double weight : weights)
      all[i].weights.push_back(float(weight / sum));
  }
  return all;
}

uint8_t greyOf(const uint8_t *rgb) {
  return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
}

/// One channel of the image as the input counts them.
std::vector<float> plane(const Image &image, int64_t channels,
                         int64_t channel) {
  std::vector<float> values(image.width * image.height);
  bool toGrey = channels == 1 && image.channels == 3;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t *pixel = &image.pixels[i * image.channels];
    values[i] =
        toGrey ? greyOf(pixel) : pixel[image.channels == 3 ? channel : 0];
  }
  return values;
}

/// [rows, width] to [rows, taps].
std::vector<float> alongRows(const std::vector<float> &from, int64_t width,
                             const std::vector<Taps> &taps) {
  std::vector<float> to;
  to.reserve(from.size() / width * taps.size());
  for (size_t row = 0; row < from.size(); row += width)
    for (const Taps &tap : taps) {
      float sum = 0;
      for (size_t i = 0; i < tap.weights.size(); ++i)
        sum += tap.weights[i] * from[row + tap.first + i];
      to.push_back(sum);
    }
  return to;
}

/// [rows, width] to [taps, width], in units of 1.
void alongColumns(const std::vector<float> &from, int64_t width,
                  const std::vector<Taps> &taps, float *to) {
  for (const Taps &tap : taps)
    for (int64_t x = 0; x < width; ++x) {
      float sum = 0;
      for (size_t i = 0; i < tap.weights.size(); ++i)
        sum += tap.weights[i] * from[(tap.first + i) * width + x];
      *to++ = sum * (1.0f / 255.0f);
    }
}

} // namespace

void fitImage(const Image &image, int64_t channels, int64_t height,
              int64_t width, float *to) {
  double scale =
      std::max(double(width) / image.width, double(height) / image.height);
  auto scaled = [&](int64_t size, int64_t wanted) {
    return std::max<int64_t>(wanted, std::llround(size * scale));
  };
  auto rowTaps = tapsOf(image.width, scaled(image.width, width), width);
  auto columnTaps = tapsOf(image.height, scaled(image.height, height), height);
  for (int64_t channel = 0; channel < channels; ++channel) {
    auto rows =
        alongRows(plane(image, channels, channel), image.width, rowTaps);
    alongColumns(rows, width, columnTaps, to + channel * height * width);
  }
}

} // namespace gradus::data
