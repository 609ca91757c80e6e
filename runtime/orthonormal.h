// Vectors that are too long to be in memory together, and whether they are
// orthonormal.

#pragma once

#include "runtime/status.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace gradus::runtime {

/// Vectors of one length, whose numbers are read piece by piece.
class Vectors {
public:
  virtual ~Vectors() = default;
  virtual size_t count() const = 0;
  virtual size_t length() const = 0;
  /// Reads as many numbers of a vector as there is room for, from the number
  /// `begin` on; all must be finite.
  virtual Status read(size_t vector, size_t begin,
                      std::span<double> numbers) const = 0;
};

/// Numbers of all vectors, one vector after the other.
struct VectorsPiece {
  /// The numbers of each vector that are in memory at a time; sums are made in
  /// the order of these pieces.
  static constexpr size_t kMost = 2048;

  std::vector<double> numbers; // [vectors, size]
  size_t size = 0;

  const double *of(size_t vector) const {
    return numbers.data() + vector * size;
  }
};

/// Reads the numbers from `begin` to `end` of all vectors.
Status readAll(const Vectors &vectors, size_t begin, size_t end,
               VectorsPiece &piece);

/// Calls `use(begin, end)` for the pieces of a range.
template <typename Use>
Status inPieces(size_t begin, size_t end, const Use &use) {
  for (; begin < end; begin += VectorsPiece::kMost)
    GRADUS_TRY(use(begin, std::min(begin + VectorsPiece::kMost, end)));
  return Status();
}

/// Adds the products of the rows of a matrix [rows, size] to those in
/// `products` [rows, rows].
void addProducts(const double *matrix, size_t rows, size_t size,
                 std::vector<double> &products);

/// The maximum distance of the products of the vectors from those that
/// orthonormal ones have: 1 with itself, and 0 with another.
StatusOr<double> distanceFromOrthonormal(const Vectors &vectors);

/// Refuses vectors whose products are farther from those of orthonormal ones
/// than rounding to f32 makes them.
Status verifyOrthonormal(const Vectors &rows);

} // namespace gradus::runtime
