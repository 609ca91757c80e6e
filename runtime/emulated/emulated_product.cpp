// Computes tiles of 4 x 8 sums, which fit into the registers of any processor.

#include "runtime/emulated/emulated_product.h"

#include <algorithm>

namespace gradus::runtime::cuda {

namespace {

constexpr int64_t kTall = 4, kWide = 8;

/// Adds one tile of `height` rows; `width` is at most kWide.
template <int64_t height>
void addTile(int64_t width, int64_t depth, Factor a, Factor b, Rows c) {
  float sums[height][kWide] = {};
  auto addColumns = [&](int64_t k, int64_t count) {
    const float *row = b.data + k * b.row;
    for (int64_t i = 0; i < height; ++i) {
      float factor = a.data[i * a.row + k * a.column];
      for (int64_t j = 0; j < count; ++j)
        sums[i][j] += factor * row[j];
    }
  };
  if (width == kWide)
    for (int64_t k = 0; k < depth; ++k)
      addColumns(k, kWide);
  else
    for (int64_t k = 0; k < depth; ++k)
      addColumns(k, width);
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = 0; j < width; ++j)
      c.data[i * c.row + j] += sums[i][j];
}

} // namespace

void addProduct(int64_t rows, int64_t depth, int64_t columns, Factor a,
                Factor b, Rows c) {
  for (int64_t j = 0; j < columns; j += kWide) {
    int64_t width = std::min(kWide, columns - j), i = 0;
    auto left = [&] { return Factor{a.data + i * a.row, a.row, a.column}; };
    auto to = [&] { return Rows{c.data + i * c.row + j, c.row}; };
    Factor right{b.data + j, b.row};
    for (; i + kTall <= rows; i += kTall)
      addTile<kTall>(width, depth, left(), right, to());
    for (; i < rows; ++i)
      addTile<1>(width, depth, left(), right, to());
  }
}

} // namespace gradus::runtime::cuda
