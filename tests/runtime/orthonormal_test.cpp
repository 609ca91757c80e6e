// How far vectors are from orthonormal ones, in pieces as in one.

#include "runtime/orthonormal.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::runtime;

namespace {

using Rows = std::vector<std::vector<double>>;

/// Vectors in memory.
class Given : public Vectors {
public:
  explicit Given(Rows rows) : rows_(std::move(rows)) {}
  size_t count() const override { return rows_.size(); }
  size_t length() const override { return rows_.front().size(); }
  Status read(size_t vector, size_t begin,
              std::span<double> numbers) const override {
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = rows_[vector].at(begin + i);
      if (std::isnan(numbers[i]))
        return failed("number ", begin + i, " cannot be read");
    }
    return Status();
  }

private:
  Rows rows_;
};

/// Two rows over several pieces, orthonormal but for `off` in their product.
Given longRows(double off) {
  constexpr size_t kLength = 3 * VectorsPiece::kMost + 5;
  Rows rows(2, std::vector<double>(kLength));
  double each = 1 / std::sqrt(double(kLength - 1));
  for (size_t i = 0; i + 1 < kLength; ++i) {
    rows[0][i] = each;
    rows[1][i] = i % 2 ? each : -each; // as many of both signs
  }
  rows[1].back() = 0;
  rows[1][0] += off / each;
  return Given(rows);
}

} // namespace

TEST(Orthonormal, VectorsHaveNoDistanceFromIt) {
  EXPECT_EQ(*distanceFromOrthonormal(Given({{0.6, 0.8}, {-0.8, 0.6}})), 0);
  EXPECT_NEAR(*distanceFromOrthonormal(Given({{1, 0}, {0.5, 1}})), 0.5, 1e-15);
  EXPECT_NEAR(*distanceFromOrthonormal(Given({{2, 0}, {0, 1}})), 3, 1e-15);
}

TEST(Orthonormal, ProductsAreThoseOfAllPieces) {
  EXPECT_TRUE(verifyOrthonormal(longRows(0)).ok());
  EXPECT_EQ(verifyOrthonormal(Given({{1, 0}, {0.5, 1}})).message(),
            "its rows are not orthonormal: products of two are off by 0.5; "
            "expected at most 0.0001");
  Status status = verifyOrthonormal(longRows(0.01));
  EXPECT_EQ(status.code(), StatusCode::invalid);
}

TEST(Orthonormal, FailsWhereAVectorCannotBeRead) {
  Status status = verifyOrthonormal(Given({{1, std::nan("")}, {0, 1}}));
  EXPECT_EQ(status.message(), "number 1 cannot be read");
}
