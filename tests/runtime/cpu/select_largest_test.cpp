// The selection against sorting, in all its digits, parts and threads; and what
// it costs.

#include "runtime/cpu/select_largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace gradus::runtime;

namespace {

template <typename Number> struct Taken {
  std::vector<int32_t> indices;
  std::vector<Number> values;
};

/// Memory that is none of zeros.
template <typename Number>
std::vector<Number> memoryOf(const SelectionScratch &scratch) {
  size_t each = sizeof(Number) + 4, counts = size_t(4) << scratch.digitBits;
  return std::vector<Number>(
      scratch.parts * (counts + scratch.listed * each) / sizeof(Number), -1);
}

template <typename Number>
Taken<Number> select(const std::vector<Number> &numbers, size_t count,
                     const Number *threshold = nullptr,
                     SelectionScratch scratch = {}, int threads = 1) {
  ThreadPool pool(threads);
  Taken<Number> taken{std::vector<int32_t>(count, -1),
                      std::vector<Number>(count, -1)};
  std::vector<Number> memory = memoryOf<Number>(scratch);
  scratch.memory = memory.data();
  Selection<Number> selection({numbers, threshold, taken.indices, taken.values},
                              scratch, pool);
  selection.run();
  selection.run(); // It may run again and again.
  return taken;
}

/// A NaN comes before all numbers.
template <typename Number> bool isLarger(Number one, Number other) {
  if (std::isnan(other))
    return false;
  return std::isnan(one) || std::abs(one) > std::abs(other);
}

template <typename Number>
Taken<Number> sorted(const std::vector<Number> &numbers, size_t count,
                     const Number *threshold = nullptr) {
  std::vector<int32_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  if (threshold)
    std::erase_if(order, [&](int32_t i) {
      return isLarger(*threshold, numbers[static_cast<size_t>(i)]);
    });
  auto isBefore = [&](int32_t one, int32_t other) {
    Number a = numbers[static_cast<size_t>(one)],
           b = numbers[static_cast<size_t>(other)];
    return isLarger(a, b) || (!isLarger(b, a) && one < other);
  };
  size_t kept = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept),
                    order.end(), isBefore);
  order.resize(kept);
  std::sort(order.begin(), order.end());
  Taken<Number> taken;
  for (int32_t i : order) {
    taken.indices.push_back(i);
    taken.values.push_back(numbers[static_cast<size_t>(i)]);
  }
  taken.indices.resize(count, static_cast<int32_t>(numbers.size()));
  taken.values.resize(count, 0);
  return taken;
}

template <typename Number>
void expectSame(const Taken<Number> &found, const Taken<Number> &wanted) {
  ASSERT_EQ(found.indices, wanted.indices);
  for (size_t i = 0; i < wanted.values.size(); ++i)
    ASSERT_TRUE(found.values[i] == wanted.values[i] ||
                (std::isnan(found.values[i]) && std::isnan(wanted.values[i])))
        << i;
}

/// Numbers of which many are equal, or tiny, infinite or none at all.
template <typename Number> std::vector<Number> mixed(size_t size, int seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::normal_distribution<double> normal(0, 0.01);
  std::vector<Number> numbers(size);
  for (Number &each : numbers) {
    uint64_t kind = random() % 64;
    each = static_cast<Number>(normal(random));
    if (kind < 16)
      each = std::round(each * 50) / 50;
    if (kind == 16)
      each = std::numeric_limits<Number>::infinity();
    if (kind == 17)
      each = -std::numeric_limits<Number>::quiet_NaN();
    if (kind == 18)
      each = std::numeric_limits<Number>::denorm_min();
  }
  return numbers;
}

} // namespace

template <typename Number> class SelectLargest : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(SelectLargest, Numbers);

TYPED_TEST(SelectLargest, TakesTheFirstOfEqualOnes) {
  std::vector<TypeParam> numbers = {1, -2, 0, 2, -1, 2, 1};
  EXPECT_EQ(select(numbers, 2).indices, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(select(numbers, 4).indices, (std::vector<int32_t>{0, 1, 3, 5}));
  EXPECT_EQ(select(numbers, 4).values, (std::vector<TypeParam>{1, -2, 2, 2}));
  EXPECT_EQ(select(numbers, 7).indices,
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6}));
}

TYPED_TEST(SelectLargest, LeavesOutWhatDoesNotReachTheThreshold) {
  std::vector<TypeParam> numbers = {0.5, -2, 0, 2, -1, NAN, 1};
  TypeParam one = 1, three = 3, none = NAN;
  EXPECT_EQ(select(numbers, 6, &one).indices,
            (std::vector<int32_t>{1, 3, 4, 5, 6, 7}));
  EXPECT_EQ(select(numbers, 6, &one).values[5], 0);
  EXPECT_EQ(select(numbers, 2, &one).indices, (std::vector<int32_t>{1, 5}));
  EXPECT_EQ(select(numbers, 2, &three).indices, (std::vector<int32_t>{5, 7}));
  EXPECT_EQ(select(numbers, 2, &none).indices, (std::vector<int32_t>{5, 7}));
}

TYPED_TEST(SelectLargest, HasNothingOfNothing) {
  EXPECT_TRUE(select(std::vector<TypeParam>(), 0).indices.empty());
  EXPECT_EQ(select(std::vector<TypeParam>(3), 1).indices,
            std::vector<int32_t>{0});
}

/// A forged file may place the scratch in the input, which changes while it is
/// counted then: what is taken means nothing, and nothing else is written.
TYPED_TEST(SelectLargest, WritesItsEntriesAloneWhereMemoryIsShared) {
  ThreadPool pool(1);
  constexpr size_t kCount = 20;
  for (int seed = 0; seed < 20; ++seed)
    for (size_t listed : {size_t(0), size_t(40)}) {
      auto numbers = mixed<TypeParam>(4096, seed);
      std::vector<int32_t> indices(kCount + 8, -7);
      std::vector<TypeParam> values(kCount + 8, 7);
      TypeParam least = static_cast<TypeParam>(0.001);
      Selection<TypeParam> selection({numbers,
                                      seed % 2 ? &least : nullptr,
                                      {indices.data(), kCount},
                                      {values.data(), kCount}},
                                     {numbers.data(), 4, 8, listed}, pool);
      selection.run();
      for (size_t i = kCount; i < kCount + 8; ++i) {
        EXPECT_EQ(indices[i], -7);
        EXPECT_EQ(values[i], 7);
      }
    }
}

TYPED_TEST(SelectLargest, EqualsSortingForAnyPartsAndDigits) {
  for (size_t size :
       {size_t(1), size_t(31), size_t(33), size_t(1000), size_t(40971)})
    for (size_t count : {size_t(1), size / 100 + 1, size / 2 + 1, size}) {
      auto numbers = mixed<TypeParam>(size, static_cast<int>(size + count));
      TypeParam threshold = static_cast<TypeParam>(0.01);
      for (const TypeParam *least :
           {static_cast<const TypeParam *>(nullptr),
            static_cast<const TypeParam *>(&threshold)}) {
        auto wanted = sorted(numbers, count, least);
        for (size_t parts : {size_t(1), size_t(5)})
          for (int bits : {4, 8, 16})
            for (size_t listed : {size_t(0), size / 60 * 2}) {
              SCOPED_TRACE(testing::Message()
                           << count << " of " << size << ", " << parts
                           << " parts, " << bits << ", " << listed);
              expectSame(select(numbers, count, least,
                                {nullptr, parts, bits, listed}, 3),
                         wanted);
            }
      }
    }
}

/// The guess comes from every second number, of which more are large than of
/// the others: fewer reach it than are taken.
TYPED_TEST(SelectLargest, LooksAtAllWhereTheGuessWasTooHigh) {
  constexpr size_t kSize = 40971, kLarge = 400, kCount = 410;
  std::vector<TypeParam> numbers(kSize, TypeParam(0.001));
  for (size_t i = 0; i < kLarge; ++i)
    numbers[80 * i] = 1;
  auto wanted = sorted(numbers, kCount);
  for (size_t parts : {size_t(1), size_t(5)})
    for (int bits : {4, 8, 16})
      for (size_t listed : {size_t(0), size_t(2), kSize + 1}) {
        SCOPED_TRACE(testing::Message()
                     << parts << " parts, " << bits << ", " << listed);
        expectSame(select<TypeParam>(numbers, kCount, nullptr,
                                     {nullptr, parts, bits, listed}, 3),
                   wanted);
      }
}

/// The part is counted in f64: a product in f32 would be 200000. SINGA's
/// comparison of integers would take the first ones.
TEST(SelectLargestOfMany, EqualsSorting) {
  constexpr size_t kSize = 20'000'001, kCount = 200'001;
  std::mt19937 random(7);
  std::vector<float> numbers(kSize);
  for (float &each : numbers) { // roughly normal, which is slow to draw
    auto bits = static_cast<uint32_t>(random());
    each = 1e-3f *
           (float(bits & 0x7ff) + float(bits >> 11 & 0x7ff) +
            float(bits >> 22) * 2 - 3070) /
           1000;
  }
  ThreadPool pool(1);
  Taken<float> taken{std::vector<int32_t>(kCount), std::vector<float>(kCount)};
  // Codegen would choose this scratch (codegen/artifact/write_select.cpp).
  SelectionScratch scratch{nullptr, 16, 13, 2 * (2 * kCount / 16 + 512)};
  std::vector<float> memory = memoryOf<float>(scratch);
  scratch.memory = memory.data();
  Selection<float> selection({numbers, nullptr, taken.indices, taken.values},
                             scratch, pool);
  selection.run();
  expectSame(taken, sorted(numbers, kCount));
}
