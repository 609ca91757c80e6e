// Principal components of snapshots: the orthonormal directions along which
// vectors differ most from their mean.
//
// Weights are millions of numbers and snapshots are few, so the components come
// from the m x m matrix of the products of the snapshots, whose eigenvectors
// say how to combine them (Sirovich, "Turbulence and the dynamics of coherent
// structures", 1987). This is exact, and the same bits each time: all sums are
// f64 in a fixed order, and nothing is random. The snapshots are read piece by
// piece, so that they need not be in memory.

#pragma once

#include "runtime/orthonormal.h"
#include "runtime/status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gradus::training {

using runtime::Vectors;

/// Reads numbers of the mean of the vectors, from the number `begin` on.
runtime::Status readMean(const Vectors &vectors, size_t begin,
                         std::span<double> numbers);

struct Eigenvectors {
  std::vector<double> values;  // n, in descending order
  std::vector<double> vectors; // [n, n], one after the other, in that order
};

/// The eigenvalues and eigenvectors of a symmetric matrix [n, n] whose
/// eigenvalues are not negative, by Jacobi's rotations (Golub and Van Loan,
/// "Matrix Computations", section 8.5).
Eigenvectors eigenvectorsOf(std::vector<double> matrix, size_t n);

/// The first components, in the order of the variance along them. Of the
/// snapshots that are farthest from the mean along a component, the last one is
/// on its positive side.
class PrincipalComponents {
public:
  /// Fails if the snapshots have fewer than `count` independent directions:
  /// those along which their standard deviation is more than kLeastSpread of
  /// the largest one. `snapshots` must outlive this.
  static runtime::StatusOr<PrincipalComponents> of(const Vectors &snapshots,
                                                   size_t count);
  static constexpr double kLeastSpread = 1e-6;

  size_t count() const { return variances_.size(); }
  /// The variances of the snapshots along each component.
  const std::vector<double> &variances() const { return variances_; }
  /// The sum of the variances along all directions.
  double totalVariance() const { return totalVariance_; }

  /// Reads the numbers from `begin` to `end` of components: of `first`, then of
  /// the next one, for as many as there is room for.
  runtime::Status read(size_t first, size_t begin, size_t end,
                       std::span<float> numbers) const;

private:
  explicit PrincipalComponents(const Vectors &snapshots)
      : snapshots_(&snapshots) {}
  runtime::Status choose(const Eigenvectors &all, size_t count);
  runtime::Status orthonormalize();

  const Vectors *snapshots_;
  std::vector<double> variances_;
  double totalVariance_ = 0;
  /// `shares_` [count, m] are the factors of the snapshots in each component.
  /// Their sum is 0.
  std::vector<double> shares_;
};

} // namespace gradus::training
