// Resamples planes of numbers along the rows, then along the columns, with a
// triangle filter (bilinear if a plane grows, a mean if it shrinks): Pillow's
// BILINEAR and torchvision's with antialias, in f32.

#pragma once

#include <cstdint>
#include <vector>

namespace gradus::data {

/// The weights of successive numbers along one axis whose mean is one result.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

/// The taps of the middle `wanted` numbers when `size` is scaled to `scaled`.
std::vector<Taps> tapsOf(int64_t size, int64_t scaled, int64_t wanted);

/// Writes `rows` x `columns` means of a plane, times `unit`. The plane has
/// `width` numbers in a row and as many rows as `rows` reach.
void resize(const std::vector<float> &plane, int64_t width,
            const std::vector<Taps> &rows, const std::vector<Taps> &columns,
            float unit, float *to);

} // namespace gradus::data
