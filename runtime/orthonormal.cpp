// Products of vectors, piece by piece; all sums are f64 in a fixed order.

#include "runtime/orthonormal.h"

#include <cmath>
#include <numeric>

namespace gradus::runtime {

/// The sum of products, made in eight sums that vector units can hold.
static double product(const double *a, const double *b, size_t size) {
  constexpr size_t kSums = 8;
  double sums[kSums] = {};
  size_t at = 0;
  for (; at + kSums <= size; at += kSums)
    for (size_t i = 0; i < kSums; ++i)
      sums[i] += a[at + i] * b[at + i];
  for (; at < size; ++at)
    sums[0] += a[at] * b[at];
  return std::accumulate(sums, sums + kSums, 0.0);
}

Status readAll(const Vectors &vectors, size_t begin, size_t end,
               VectorsPiece &piece) {
  piece.size = end - begin;
  piece.numbers.resize(vectors.count() * piece.size);
  for (size_t i = 0; i < vectors.count(); ++i)
    GRADUS_TRY(vectors.read(
        i, begin,
        std::span(piece.numbers).subspan(i * piece.size, piece.size)));
  return Status();
}

void addProducts(const double *matrix, size_t rows, size_t size,
                 std::vector<double> &products) {
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j <= i; ++j) {
      products[i * rows + j] +=
          product(matrix + i * size, matrix + j * size, size);
      products[j * rows + i] = products[i * rows + j];
    }
}

StatusOr<double> distanceFromOrthonormal(const Vectors &vectors) {
  size_t count = vectors.count();
  std::vector<double> products(count * count);
  VectorsPiece piece;
  GRADUS_TRY(inPieces(0, vectors.length(), [&](size_t begin, size_t end) {
    GRADUS_TRY(readAll(vectors, begin, end, piece));
    addProducts(piece.numbers.data(), count, piece.size, products);
    return Status();
  }));
  double farthest = 0;
  for (size_t i = 0; i < products.size(); ++i)
    farthest = std::max(
        farthest, std::fabs(products[i] - (i % (count + 1) == 0 ? 1 : 0)));
  return farthest;
}

Status verifyOrthonormal(const Vectors &rows) {
  constexpr double kMost = 1e-4; // of rows that are stored in f32
  GRADUS_ASSIGN(double distance, distanceFromOrthonormal(rows));
  if (distance <= kMost)
    return Status();
  return invalid("its rows are not orthonormal: products of two are off by ",
                 distance, "; expected at most ", kMost);
}

} // namespace gradus::runtime
