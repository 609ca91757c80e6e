// Resamples planes of numbers along the rows, then along the columns, with a
// triangle filter (bilinear if a plane grows, a mean if it shrinks): Pillow's
// BILINEAR and torchvision's with antialias, in f32.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gradus::data {

/// A part of an axis, in numbers from its first one on.
struct Range {
  double begin = 0, size = 0;
};

/// The weights of successive numbers along one axis for each result, which is
/// their mean.
struct Taps {
  struct Tap {
    int64_t first = 0; // number that has the first weight
    int64_t count = 0; // of weights, 1 or more
    int64_t at = 0;    // of the first weight in `weights`
  };
  std::vector<Tap> each;
  std::vector<float> weights;
};

/// Sets the taps of the middle `wanted` numbers when the `range` of an axis of
/// `size` numbers is scaled to `scaled`. Numbers beyond `size` do not count.
void setTaps(const Range &range, int64_t size, int64_t scaled, int64_t wanted,
             Taps &taps);

/// Numbers in rows, from the first that has a tap on: an image's bytes, whose
/// colours follow each other, or a plane.
template <typename Number> struct Pixels {
  const Number *first = nullptr;
  int64_t width = 0;    // pixels in a row
  int64_t channels = 1; // numbers in a pixel, 1 or 3
  int64_t stride = 0;   // numbers from row to row
};

/// The memory that scaling reuses, of one thread.
struct ResizeMemory {
  Taps rows, columns;
  std::vector<float> row;  // of the source, as floats
  std::vector<float> ring; // rows that are scaled along the columns' axis
  std::vector<float> sums; // of a row of results
};

/// Writes the means, times `unit`, by the taps in `memory`: a plane of `rows` x
/// `columns` numbers for each channel.
void resize(const Pixels<uint8_t> &from, float unit, ResizeMemory &memory,
            float *to);
void resize(const Pixels<float> &from, float unit, ResizeMemory &memory,
            float *to);

} // namespace gradus::data
