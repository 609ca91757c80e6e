// Scales images, or parts of them, to an input's size.

#include "training/data/image_file.h"

#include <algorithm>
#include <cmath>

namespace gradus::data {
namespace {

uint8_t greyOf(const uint8_t *rgb) {
  return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
}

/// The pixels of a part of an image, in its colours.
Pixels<uint8_t> pixelsOf(const Image &image, const Box &box) {
  int64_t stride = image.width * image.channels;
  return {image.pixels.data() + box.top * stride + box.left * image.channels,
          box.width, image.channels, stride};
}

/// Makes `grey` the grey of coloured pixels.
Pixels<uint8_t> greyPixels(const Pixels<uint8_t> &colours, int64_t height,
                           std::vector<uint8_t> &grey) {
  grey.resize(height * colours.width);
  uint8_t *to = grey.data();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < colours.width; ++x)
      *to++ = greyOf(colours.first + y * colours.stride + x * 3);
  return {grey.data(), colours.width, 1, colours.width};
}

/// Scales the box by the taps in `memory`.
void scale(const Image &image, const Box &box, const ImageShape &shape,
           ImageMemory &memory, float *to) {
  Pixels<uint8_t> pixels = pixelsOf(image, box);
  if (shape.channels == 1 && image.channels == 3)
    pixels = greyPixels(pixels, box.height, memory.grey);
  resize(pixels, 1.0f / 255.0f, memory.resize, to);
  int64_t plane = shape.height * shape.width;
  for (int64_t i = pixels.channels; i < shape.channels; ++i)
    std::copy_n(to, plane, to + i * plane);
}

} // namespace

void fitImage(const Image &image, const ImageShape &shape, ImageMemory &memory,
              float *to) {
  double factor = std::max(double(shape.width) / image.width,
                           double(shape.height) / image.height);
  auto setAxis = [&](int64_t size, int64_t wanted, Taps &taps) {
    int64_t scaled = std::max<int64_t>(wanted, std::llround(size * factor));
    setTaps({0, double(size)}, size, scaled, wanted, taps);
  };
  setAxis(image.height, shape.height, memory.resize.rows);
  setAxis(image.width, shape.width, memory.resize.columns);
  scale(image, {0, 0, image.height, image.width}, shape, memory, to);
}

void cropImage(const ImagePart &part, const ImageShape &shape,
               ImageMemory &memory, float *to) {
  setTaps(part.rows, part.box.height, shape.height, shape.height,
          memory.resize.rows);
  setTaps(part.columns, part.box.width, shape.width, shape.width,
          memory.resize.columns);
  scale(part.image, part.box, shape, memory, to);
}

} // namespace gradus::data
