// Scaling of planes of numbers: along the rows, then along the columns, each by
// a triangle (which is bilinear where a plane grows, and a mean where it
// shrinks): Pillow's BILINEAR and torchvision's with antialias, in f32.

#pragma once

#include <cstdint>
#include <vector>

namespace gradus::data {

/// The numbers along one axis that one number of the result is a mean of.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

/// Those of `wanted` numbers in the middle of `size` scaled to `scaled`.
std::vector<Taps> tapsOf(int64_t size, int64_t scaled, int64_t wanted);

/// Writes `rows` x `columns` means of a plane of `width` numbers a row and as
/// many rows as `rows` reach, times `unit`.
void resize(const std::vector<float> &plane, int64_t width,
            const std::vector<Taps> &rows, const std::vector<Taps> &columns,
            float unit, float *to);

} // namespace gradus::data
