// All passes read pieces of the snapshots' differences from the first one.
// These are free of rounding where the weights are f32 and near each other, and
// 0 where two snapshots are equal. The mean is taken out of the products, which
// are few, and not of the numbers.

#include "training/principal_components.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace gradus::runtime;

namespace gradus::training {

namespace {

/// Reads the differences of all vectors from the first one.
Status readDifferences(const Vectors &vectors, size_t begin, size_t end,
                       VectorsPiece &piece) {
  GRADUS_TRY(readAll(vectors, begin, end, piece));
  for (size_t i = vectors.count(); i-- > 0;)
    for (size_t j = 0; j < piece.size; ++j)
      piece.numbers[i * piece.size + j] -= piece.numbers[j];
  return Status();
}

/// The sum of rows of a matrix [count, size], each times its factor.
void combine(const double *factors, const VectorsPiece &rows, size_t count,
             double *sum) {
  std::fill_n(sum, rows.size, 0.0);
  for (size_t i = 0; i < count; ++i) {
    const double factor = factors[i], *row = rows.of(i);
    for (size_t j = 0; j < rows.size; ++j)
      sum[j] += factor * row[j];
  }
}

/// The products of the vectors' differences from their mean, [m, m].
StatusOr<std::vector<double>> centeredProducts(const Vectors &vectors) {
  size_t m = vectors.count();
  std::vector<double> products(m * m), means(m);
  VectorsPiece piece;
  GRADUS_TRY(inPieces(0, vectors.length(), [&](size_t begin, size_t end) {
    GRADUS_TRY(readDifferences(vectors, begin, end, piece));
    addProducts(piece.numbers.data(), m, piece.size, products);
    return Status();
  }));
  double total = 0;
  for (size_t i = 0; i < m; ++i) {
    auto row = products.begin() + static_cast<ptrdiff_t>(i * m);
    double sum = std::accumulate(row, row + static_cast<ptrdiff_t>(m), 0.0);
    means[i] = sum / static_cast<double>(m);
    total += means[i];
  }
  total /= static_cast<double>(m);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < m; ++j)
      products[i * m + j] += total - means[i] - means[j];
  return products;
}

/// The two columns of a rotation that makes the number between two rows of a
/// symmetric matrix 0.
struct Rotation {
  double cosine, sine;

  Rotation(double first, double between, double second) {
    double ratio = (second - first) / (2 * between);
    double tangent =
        std::copysign(1 / (std::fabs(ratio) + std::hypot(ratio, 1.0)), ratio);
    cosine = 1 / std::hypot(tangent, 1.0);
    sine = tangent * cosine;
  }

  void turn(double &one, double &other) const {
    double before = one;
    one = cosine * before - sine * other;
    other = sine * before + cosine * other;
  }
};

/// Rotates each pair of rows and columns of a matrix [n, n] once, and the rows
/// of `vectors` with them. Returns whether there was anything to rotate.
bool sweep(std::vector<double> &matrix, std::vector<double> &vectors, size_t n,
           double nothing) {
  bool any = false;
  for (size_t p = 0; p < n; ++p)
    for (size_t q = p + 1; q < n; ++q) {
      double between = matrix[p * n + q];
      double scale = std::sqrt(std::fabs(matrix[p * n + p]) *
                               std::fabs(matrix[q * n + q]));
      if (std::fabs(between) <=
          std::max(nothing, std::numeric_limits<double>::epsilon() * scale / 4))
        continue;
      any = true;
      Rotation rotation(matrix[p * n + p], between, matrix[q * n + q]);
      for (size_t i = 0; i < n; ++i)
        rotation.turn(matrix[i * n + p], matrix[i * n + q]);
      for (size_t i = 0; i < n; ++i)
        rotation.turn(matrix[p * n + i], matrix[q * n + i]);
      for (size_t i = 0; i < n; ++i)
        rotation.turn(vectors[p * n + i], vectors[q * n + i]);
    }
  return any;
}

/// Replaces the matrix [n, n] of the components' products by its Cholesky
/// factor, below and on the diagonal. Fails where it is not positive definite.
Status factorize(std::vector<double> &matrix, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double rest = matrix[i * n + j];
      for (size_t k = 0; k < j; ++k)
        rest -= matrix[i * n + k] * matrix[j * n + k];
      if (i == j && !(rest > 0 && std::isfinite(rest)))
        return invalid("component ", i + 1, " of ", n,
                       " has no direction of its own: what those before it "
                       "leave of the square of its length is ",
                       rest, ", expected more than 0; fewer components may do");
      matrix[i * n + j] = i == j ? std::sqrt(rest) : rest / matrix[j * n + j];
    }
  return Status();
}

/// The sign that puts the last of the farthest snapshots on the positive side.
/// Distances that differ by rounding alone count as equal.
double signOf(std::span<const double> positions) {
  constexpr double kEqual = 1 - 1e-9;
  double farthest = 0;
  for (double position : positions)
    farthest = std::max(farthest, std::fabs(position));
  double last = 0;
  for (double position : positions)
    if (std::fabs(position) >= farthest * kEqual)
      last = position;
  return last < 0 ? -1 : 1;
}

} // namespace

Status readMean(const Vectors &vectors, size_t begin,
                std::span<double> numbers) {
  VectorsPiece piece;
  size_t all = begin + numbers.size();
  return inPieces(begin, all, [&](size_t from, size_t to) {
    GRADUS_TRY(readDifferences(vectors, from, to, piece));
    double *mean = numbers.data() + (from - begin);
    std::vector<double> equal(vectors.count(), 1);
    combine(equal.data(), piece, vectors.count(), mean);
    std::vector<double> first(piece.size);
    GRADUS_TRY(vectors.read(0, from, first));
    for (size_t i = 0; i < piece.size; ++i)
      mean[i] = first[i] + mean[i] / static_cast<double>(vectors.count());
    return Status();
  });
}

Eigenvectors eigenvectorsOf(std::vector<double> matrix, size_t n) {
  std::vector<double> vectors(n * n);
  double trace = 0;
  for (size_t i = 0; i < n; ++i) {
    vectors[i * n + i] = 1;
    trace += std::fabs(matrix[i * n + i]);
  }
  // Some ten sweeps are enough; the bound is for matrices that hold a NaN.
  constexpr int kMostSweeps = 60;
  double nothing = trace * std::numeric_limits<double>::epsilon() / 1024;
  for (int i = 0; i < kMostSweeps && sweep(matrix, vectors, n, nothing); ++i)
    ;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    return matrix[one * n + one] > matrix[other * n + other];
  });
  Eigenvectors sorted;
  for (size_t i : order) {
    sorted.values.push_back(matrix[i * n + i]);
    auto vector = std::span(vectors).subspan(i * n, n);
    sorted.vectors.insert(sorted.vectors.end(), vector.begin(), vector.end());
  }
  return sorted;
}

StatusOr<PrincipalComponents> PrincipalComponents::of(const Vectors &snapshots,
                                                      size_t count) {
  size_t m = snapshots.count();
  if (count == 0 || count >= m)
    return invalid(m, " snapshots differ along at most ", m ? m - 1 : 0,
                   " directions; expected 1 to ", m ? m - 1 : 0,
                   " components, found ", count);
  GRADUS_ASSIGN(std::vector<double> products, centeredProducts(snapshots));
  if (!std::all_of(products.begin(), products.end(),
                   [](double number) { return std::isfinite(number); }))
    return invalid("the snapshots are so far apart that the squares of their "
                   "distances exceed f64");
  PrincipalComponents components(snapshots);
  for (size_t i = 0; i < m; ++i)
    components.totalVariance_ +=
        products[i * m + i] / static_cast<double>(m - 1);
  Eigenvectors all = eigenvectorsOf(std::move(products), m);
  GRADUS_TRY(components.choose(all, count));
  // The products have each number up to a rounding of the largest one, and so
  // directions of little variance only nearly.
  constexpr double kExact = 1e-6;
  if (all.values[count - 1] < kExact * all.values[0])
    GRADUS_TRY(components.orthonormalize());
  return components;
}

/// Makes the components of the eigenvectors of the products. What rounding has
/// left of the mean in them is taken out.
Status PrincipalComponents::choose(const Eigenvectors &all, size_t count) {
  size_t m = snapshots_->count(), independent = 0;
  // One eigenvector has equal parts of all snapshots: that of their mean, along
  // which they do not differ.
  while (independent + 1 < m && all.values[independent] > 0 &&
         all.values[independent] > kLeastSpread * kLeastSpread * all.values[0])
    ++independent;
  if (independent == 0)
    return invalid("the ", m, " snapshots are equal, and have no directions");
  if (independent < count)
    return invalid("the number of independent directions of the ", m,
                   " snapshots is ", independent,
                   "; expected no more components, found ", count);
  for (size_t k = 0; k < count; ++k) {
    auto vector = std::span(all.vectors).subspan(k * m, m);
    double sum = std::accumulate(vector.begin(), vector.end(), 0.0);
    double scale = signOf(vector) / std::sqrt(all.values[k]);
    for (double part : vector)
      shares_.push_back((part - sum / static_cast<double>(m)) * scale);
    variances_.push_back(all.values[k] / static_cast<double>(m - 1));
  }
  return Status();
}

/// Makes the components orthonormal by their own products: with L L^T = V V^T,
/// the rows of L^-1 V are.
Status PrincipalComponents::orthonormalize() {
  size_t m = snapshots_->count(), k = count();
  std::vector<double> products(k * k), numbers;
  VectorsPiece piece;
  GRADUS_TRY(inPieces(0, snapshots_->length(), [&](size_t begin, size_t end) {
    GRADUS_TRY(readDifferences(*snapshots_, begin, end, piece));
    numbers.resize(k * piece.size);
    for (size_t i = 0; i < k; ++i)
      combine(&shares_[i * m], piece, m, &numbers[i * piece.size]);
    addProducts(numbers.data(), k, piece.size, products);
    return Status();
  }));
  GRADUS_TRY(factorize(products, k));
  for (size_t i = 0; i < k; ++i)
    for (size_t s = 0; s < m; ++s) {
      for (size_t j = 0; j < i; ++j)
        shares_[i * m + s] -= products[i * k + j] * shares_[j * m + s];
      shares_[i * m + s] /= products[i * k + i];
    }
  return Status();
}

Status PrincipalComponents::read(size_t first, size_t begin, size_t end,
                                 std::span<float> numbers) const {
  size_t m = snapshots_->count(), size = end - begin;
  if (size == 0)
    return Status();
  VectorsPiece piece;
  std::vector<double> sum(VectorsPiece::kMost);
  return inPieces(begin, end, [&](size_t from, size_t to) {
    GRADUS_TRY(readDifferences(*snapshots_, from, to, piece));
    for (size_t k = 0; k < numbers.size() / size; ++k) {
      combine(&shares_[(first + k) * m], piece, m, sum.data());
      for (size_t i = 0; i < piece.size; ++i) {
        auto number = static_cast<float>(sum[i]);
        if (!std::isfinite(number))
          return invalid("component ", first + k + 1, " holds ", sum[i],
                         " at number ", from + i,
                         ": expected finite numbers of f32");
        numbers[k * size + from - begin + i] = number;
      }
    }
    return Status();
  });
}

} // namespace gradus::training
