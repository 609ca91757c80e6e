// Products of matrices of floats, of which the emulated card's library is made.
#pragma once

#include <cstdint>

namespace gradus::runtime::cuda {

/// Element (i, j) lies at i * row + j * column.
struct Factor {
  const float *data = nullptr;
  int64_t row = 0, column = 1;
};

/// Rows of elements one beside the other.
struct Rows {
  float *data = nullptr;
  int64_t row = 0;
};

/// c[rows x columns] += a[rows x depth] b[depth x columns]; rows of b lie dense
/// too. Sums along the depth first, and adds that.
void addProduct(int64_t rows, int64_t depth, int64_t columns, Factor a,
                Factor b, Rows c);

} // namespace gradus::runtime::cuda
