// Matmul of floats for the emulated GPU's library.
#pragma once

#include <cstdint>

namespace gradus::runtime::cuda {

/// A matrix whose element (i, j) is at i * row + j * column.
struct Factor {
  const float *data = nullptr;
  int64_t row = 0, column = 1;
};

/// A matrix with contiguous rows.
struct Rows {
  float *data = nullptr;
  int64_t row = 0;
};

/// c[rows x columns] += a[rows x depth] b[depth x columns]; rows of b are
/// contiguous. The sum along the depth is computed first, then added.
void addProduct(int64_t rows, int64_t depth, int64_t columns, Factor a,
                Factor b, Rows c);

} // namespace gradus::runtime::cuda
