// Principal components against their definition, against cases that a hand can
// compute, and against NumPy's singular value decomposition.

#include "training/principal_components.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::runtime;
using namespace gradus::training;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

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
      if (numbers[i] == kUnreadable)
        return failed("number ", begin + i, " cannot be read");
    }
    return Status();
  }
  static constexpr double kUnreadable = -12345;

private:
  Rows rows_;
};

/// Vectors that are other ones from the second time on that their first number
/// is read, as those of a file that is overwritten are.
class Changing : public Given {
public:
  Changing(Rows rows, Rows then)
      : Given(std::move(rows)), then_(std::move(then)) {}
  Status read(size_t vector, size_t begin,
              std::span<double> numbers) const override {
    reads_ += vector == 0;
    return reads_ > 1 ? then_.read(vector, begin, numbers)
                      : Given::read(vector, begin, numbers);
  }

private:
  Given then_;
  mutable size_t reads_ = 0;
};

/// The first components as vectors of their own, read whole.
Rows componentsOf(const Vectors &snapshots, size_t count) {
  auto found = PrincipalComponents::of(snapshots, count);
  EXPECT_TRUE(found.ok()) << found.status();
  std::vector<float> numbers(count * snapshots.length());
  EXPECT_TRUE(found->read(0, 0, snapshots.length(), numbers).ok());
  Rows rows;
  for (size_t k = 0; k < count; ++k)
    rows.emplace_back(numbers.begin() + k * snapshots.length(),
                      numbers.begin() + (k + 1) * snapshots.length());
  return rows;
}

std::string refusalOf(Rows rows, size_t count) {
  return PrincipalComponents::of(Given(std::move(rows)), count)
      .status()
      .message();
}

double product(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// A number in [-1, 1) that depends on its index alone.
double numberAt(uint64_t index) {
  uint64_t bits = (index + 1) * 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9u;
  return static_cast<double>(bits >> 11) / (uint64_t(1) << 52) - 1;
}

/// `count` vectors of `length` numbers, each in a scale of its own, around a
/// mean that is far from 0.
Rows scaled(size_t count, size_t length, double shrink) {
  Rows rows(count, std::vector<double>(length));
  double scale = 1;
  for (size_t i = 0; i < count; ++i, scale *= shrink)
    for (size_t j = 0; j < length; ++j)
      rows[i][j] = 3 + numberAt(j) + scale * numberAt((i + 1) * length + j);
  return rows;
}

} // namespace

// The spec's case: points on a line.
TEST(PrincipalComponents, OfALineAreItsDirection) {
  Given line({{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 3, 0}});
  auto found = PrincipalComponents::of(line, 1);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->variances(), ElementsAre(DoubleNear(10.0 / 3, 1e-14)));
  EXPECT_NEAR(found->totalVariance(), 10.0 / 3, 1e-14);
  // The first and the last snapshot are equally far: the last one decides.
  EXPECT_THAT(componentsOf(line, 1)[0],
              ElementsAre(DoubleNear(std::sqrt(0.5), 6e-8),
                          DoubleNear(std::sqrt(0.5), 6e-8), 0));
  Given back({{3, 3, 0}, {2, 2, 0}, {1, 1, 0}, {0, 0, 0}});
  EXPECT_LT(componentsOf(back, 1)[0][0], 0);
}

// The spec's case for signs: differences (-1, -.75), (0, -.75), (-1, 1.25),
// (2, .25) from the mean have the products [[6, 0], [0, 2.75]] of columns.
TEST(PrincipalComponents, PointToTheFarthestSnapshot) {
  Given points({{0, 0}, {1, 0}, {0, 2}, {3, 1}});
  auto found = PrincipalComponents::of(points, 2);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->variances(),
              ElementsAre(DoubleNear(2, 1e-14), DoubleNear(2.75 / 3, 1e-14)));
  Rows components = componentsOf(points, 2);
  EXPECT_THAT(components[0],
              ElementsAre(DoubleNear(1, 1e-7), DoubleNear(0, 1e-7)));
  EXPECT_THAT(components[1],
              ElementsAre(DoubleNear(0, 1e-7), DoubleNear(1, 1e-7)));
}

// numpy.linalg.svd of the rows without their mean, by NumPy 2.4.6; the signs as
// the header says.
TEST(PrincipalComponents, AgreeWithNumPy) {
  Given rows({{-2.099, -1.704, -0.421, -0.04, 1.275, 0.063, -1.615, -0.198},
              {1.028, -0.698, 1.353, 1.797, 1.629, 1.309, -1.55, -0.369},
              {-0.529, -2.735, -0.273, 0.219, 0.648, 0.207, -1.627, -0.334},
              {0.167, -0.826, 2.902, 0.751, 0.102, 0.386, -1.525, -0.382},
              {5.66, 3.551, -1.443, 1.933, 0.447, 0.321, -1.763, -0.268},
              {3.216, 1.555, 0.156, 1.861, 1.302, 1.78, -1.609, -0.134}});
  const Rows expected = {
      {0.7457509707689951, 0.6067827353154754, -0.1681247179276387,
       0.2051877822579415, -0.01717316623631151, 0.06869291242143714,
       -0.014884507562978516, 0.008189782236325625},
      {0.10388147023515956, 0.03515528423823633, 0.9415684545429333,
       0.21484053830846878, -0.049282024961526914, 0.22434802608164173,
       0.03971361181444784, -0.030450104868190702},
      {0.06039692222299869, 0.14848698637824648, 0.1823150878338487,
       -0.3557532466480037, -0.6529339919167854, -0.621193807618223,
       -0.02135449892970193, -0.04294303042035333}};
  auto found = PrincipalComponents::of(rows, 5);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(
      found->variances(),
      Pointwise(DoubleNear(1e-12),
                {13.730940106140599, 2.182461113310251, 0.7299812913436958,
                 0.3644632064809315, 0.05745221605785585}));
  EXPECT_NEAR(found->totalVariance(), 17.065297933333333, 1e-12);
  Rows components = componentsOf(rows, 5);
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_THAT(components[k], Pointwise(DoubleNear(6e-8), expected[k])) << k;
}

TEST(PrincipalComponents, AreOrthonormalAndGiveTheSnapshotsBack) {
  constexpr size_t kCount = 7, kLength = 5003; // several pieces and a rest
  Rows rows = scaled(kCount, kLength, 0.7);
  Given snapshots(rows);
  Rows components = componentsOf(snapshots, kCount - 1);
  EXPECT_LT(*distanceFromOrthonormal(Given(components)), 1e-7);
  std::vector<double> mean(kLength);
  ASSERT_TRUE(readMean(snapshots, 0, mean).ok());
  for (std::vector<double> &row : rows) {
    for (size_t j = 0; j < kLength; ++j)
      row[j] -= mean[j];
    double before = product(row, row);
    for (const std::vector<double> &component : components) {
      double along = product(row, component);
      for (size_t j = 0; j < kLength; ++j)
        row[j] -= along * component[j];
    }
    EXPECT_LT(product(row, row), 1e-13 * before);
  }
}

TEST(PrincipalComponents, HaveTheVarianceOfTheSnapshotsAlongThem) {
  Rows rows = scaled(9, 3000, 0.8);
  Given snapshots(rows);
  auto found = PrincipalComponents::of(snapshots, 8);
  ASSERT_TRUE(found.ok()) << found.status();
  Rows components = componentsOf(snapshots, 8);
  double sum = 0;
  for (size_t k = 0; k < components.size(); ++k) {
    double along = 0, squares = 0;
    for (const std::vector<double> &row : rows)
      along += product(row, components[k]) / 9;
    for (const std::vector<double> &row : rows)
      squares += std::pow(product(row, components[k]) - along, 2);
    EXPECT_NEAR(squares / 8 / found->variances()[k], 1, 1e-6) << k;
    if (k > 0)
      EXPECT_LT(found->variances()[k], found->variances()[k - 1]);
    sum += found->variances()[k];
  }
  EXPECT_NEAR(sum / found->totalVariance(), 1, 1e-12);
}

// Without a second look at their products they would be off by 6e-5.
TEST(PrincipalComponents, AreOrthonormalWhereVariancesAreFarApart) {
  Given snapshots(scaled(7, 4000, 0.08));
  auto found = PrincipalComponents::of(snapshots, 6);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LT(found->variances()[5], 1e-9 * found->variances()[0]);
  EXPECT_LT(*distanceFromOrthonormal(Given(componentsOf(snapshots, 6))), 2e-8);
}

TEST(PrincipalComponents, AreReadInAnyParts) {
  Given snapshots(scaled(5, 4500, 0.6));
  auto found = PrincipalComponents::of(snapshots, 3);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<float> whole(3 * 4500), part(2 * 1000);
  ASSERT_TRUE(found->read(0, 0, 4500, whole).ok());
  ASSERT_TRUE(found->read(1, 3000, 4000, part).ok());
  for (size_t k = 0; k < 2; ++k)
    for (size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(part[k * 1000 + i], whole[(1 + k) * 4500 + 3000 + i]);
}

TEST(PrincipalComponents, AreTheSameBitsEachTime) {
  Given snapshots(scaled(6, 4500, 0.9));
  EXPECT_EQ(componentsOf(snapshots, 5), componentsOf(snapshots, 5));
}

TEST(PrincipalComponents, NeedAsManyIndependentDirections) {
  Rows rows = scaled(4, 3000, 0.5);
  rows.push_back(rows[1]); // twice the same
  rows.push_back(rows[2]);
  EXPECT_TRUE(PrincipalComponents::of(Given(rows), 3).ok());
  EXPECT_EQ(refusalOf(rows, 4),
            "the number of independent directions of the 6 snapshots is 3; "
            "expected no more components, found 4");
  EXPECT_EQ(refusalOf(Rows(3, rows[0]), 1),
            "the 3 snapshots are equal, and have no directions");
}

TEST(PrincipalComponents, AreFewerThanSnapshots) {
  EXPECT_EQ(refusalOf({{0, 1}, {1, 0}, {5, 5}}, 3),
            "3 snapshots differ along at most 2 directions; expected 1 to 2 "
            "components, found 3");
  EXPECT_THAT(refusalOf({{0, 1}, {1, 0}, {5, 5}}, 0), HasSubstr("found 0"));
}

TEST(PrincipalComponents, SayWhatCannotBeReadOrIsTooFar) {
  EXPECT_EQ(refusalOf({{0, 1}, {1, Given::kUnreadable}}, 1),
            "number 1 cannot be read");
  EXPECT_THAT(refusalOf({{0, 1e200}, {1, -1e200}}, 1),
              HasSubstr("the squares of their distances exceed f64"));
}

TEST(PrincipalComponents, HaveDirectionsOfTheirOwn) {
  Rows apart = {{0, 0}, {1, 0}, {0, 1e-5}}, equal(3, {4, 4});
  ASSERT_TRUE(PrincipalComponents::of(Given(apart), 2).ok());
  EXPECT_EQ(
      PrincipalComponents::of(Changing(apart, equal), 2).status().message(),
      "component 1 of 2 has no direction of its own: what those before "
      "it leave of the square of its length is 0, expected more than 0; "
      "fewer components may do");
}

TEST(PrincipalComponents, AreFiniteNumbersOfF32) {
  Changing snapshots({{0, 0}, {1, 0}}, {{0, 0}, {1, 1e39}});
  auto found = PrincipalComponents::of(snapshots, 1);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<float> numbers(2);
  EXPECT_EQ(found->read(0, 0, 2, numbers).message(),
            "component 1 holds 1e+39 at number 1: expected finite numbers of "
            "f32");
}

TEST(PrincipalComponents, HaveAMeanThatIsExactOfEqualNumbers) {
  Given snapshots({{0.1, 1, -4}, {0.1, 2, -5}, {0.1, 6, 0}});
  std::vector<double> mean(3);
  ASSERT_TRUE(readMean(snapshots, 0, mean).ok());
  EXPECT_THAT(mean, ElementsAre(0.1, 3, -3));
  ASSERT_TRUE(readMean(snapshots, 1, std::span(mean).first(2)).ok());
  EXPECT_THAT(mean, ElementsAre(3, -3, -3));
}

TEST(Eigenvectors, AreThoseOfTheMatrix) {
  constexpr size_t kSize = 20;
  std::vector<double> matrix(kSize * kSize);
  for (size_t k = 0; k < kSize - 1; ++k) // one eigenvalue is 0
    for (size_t i = 0; i < kSize; ++i)
      for (size_t j = 0; j < kSize; ++j)
        matrix[i * kSize + j] +=
            numberAt(k * kSize + i) * numberAt(k * kSize + j);
  Eigenvectors found = eigenvectorsOf(matrix, kSize);
  for (size_t k = 0; k < kSize; ++k) {
    const double *vector = &found.vectors[k * kSize];
    for (size_t i = 0; i < kSize; ++i) {
      double image = 0;
      for (size_t j = 0; j < kSize; ++j)
        image += matrix[i * kSize + j] * vector[j];
      EXPECT_NEAR(image, found.values[k] * vector[i], 1e-13);
    }
    if (k > 0)
      EXPECT_LE(found.values[k], found.values[k - 1]);
  }
  EXPECT_NEAR(found.values.back(), 0, 1e-13);
}
