#include "runtime/collectives/combine.h"

#include "runtime/float_mode.h"
#include "tests/runtime/collectives/ranks.h"

#include <cmath>
#include <limits>

using namespace gradus::runtime;

namespace {

template <typename Number>
std::vector<Number> combined(Reduction reduction, DType type,
                             std::vector<Number> lower,
                             const std::vector<Number> &upper) {
  combine(reduction, type, lower.data(), upper.data(), lower.data(),
          lower.size());
  return lower;
}

const float kInfinity = std::numeric_limits<float>::infinity();

} // namespace

TEST(Combine, AddsEachType) {
  EXPECT_EQ(combined<float>(Reduction::sum, DType::f32, {1, -2}, {0.5, 2}),
            (std::vector<float>{1.5, 0}));
  EXPECT_EQ(combined<double>(Reduction::sum, DType::f64, {1e300}, {1}),
            (std::vector<double>{1e300}));
  EXPECT_EQ(combined<int8_t>(Reduction::sum, DType::i8, {127}, {1}),
            (std::vector<int8_t>{-128}));
  EXPECT_EQ(combined<int64_t>(Reduction::sum, DType::i64, {INT64_MAX}, {1}),
            (std::vector<int64_t>{INT64_MIN}));
  EXPECT_EQ(combined<uint16_t>(Reduction::sum, DType::u16, {65535}, {2}),
            (std::vector<uint16_t>{1}));
  EXPECT_EQ(combined<int32_t>(Reduction::sum, DType::i32, {-5}, {3}),
            (std::vector<int32_t>{-2}));
}

TEST(Combine, FindsMinimumAndMaximum) {
  EXPECT_EQ(combined<float>(Reduction::minimum, DType::f32, {1, -2}, {0, 3}),
            (std::vector<float>{0, -2}));
  EXPECT_EQ(combined<int8_t>(Reduction::maximum, DType::i8, {-1}, {-128}),
            (std::vector<int8_t>{-1}));
  EXPECT_EQ(combined<uint8_t>(Reduction::maximum, DType::u8, {1}, {128}),
            (std::vector<uint8_t>{128}));
  EXPECT_EQ(combined<uint8_t>(Reduction::minimum, DType::boolean, {1, 1, 0, 0},
                              {1, 0, 1, 0}),
            (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(combined<uint8_t>(Reduction::maximum, DType::boolean, {1, 1, 0, 0},
                              {1, 0, 1, 0}),
            (std::vector<uint8_t>{1, 1, 1, 0}));
}

/// The hardware would give the NaN of an operand, or one with a sign.
TEST(Combine, GivesOneNan) {
  auto negative = std::bit_cast<float>(0xffc12345u);
  for (auto reduction :
       {Reduction::sum, Reduction::minimum, Reduction::maximum})
    for (auto [lower, upper] : {std::pair{negative, 1.0f}, {1.0f, negative}})
      // Once in a vector, once behind it.
      for (float found :
           combined<float>(reduction, DType::f32, std::vector<float>(37, lower),
                           std::vector<float>(37, upper)))
        EXPECT_EQ(std::bit_cast<uint32_t>(found), 0x7fc00000u);
  for (float found : combined<float>(Reduction::sum, DType::f32,
                                     std::vector<float>(37, kInfinity),
                                     std::vector<float>(37, -kInfinity)))
    EXPECT_EQ(std::bit_cast<uint32_t>(found), 0x7fc00000u);
}

TEST(Combine, KeepsTheFirstOfEqualElements) {
  float zero =
      combined<float>(Reduction::minimum, DType::f32, {0.f}, {-0.f})[0];
  EXPECT_FALSE(std::signbit(zero));
  zero = combined<float>(Reduction::maximum, DType::f32, {-0.f}, {0.f})[0];
  EXPECT_TRUE(std::signbit(zero));
}

/// Every f16 beside numbers of other sizes: eight at once, as one alone, and as
/// the sum in f64 rounded once.
TEST(Combine, RoundsHalfSumsOnce) {
  std::vector<_Float16> every(1 << 16), other(every.size());
  for (uint16_t shift : {0, 1, 0x3c00, 0x1234, 0x8001}) {
    for (size_t i = 0; i < every.size(); ++i) {
      every[i] = std::bit_cast<_Float16>(static_cast<uint16_t>(i));
      other[i] = std::bit_cast<_Float16>(static_cast<uint16_t>(i * 7 + shift));
    }
    auto sums = combined(Reduction::sum, DType::f16, every, other);
    for (size_t i = 0; i < every.size(); i += 1) {
      double sum =
          static_cast<double>(every[i]) + static_cast<double>(other[i]);
      uint16_t bits = sum != sum
                          ? 0x7e00
                          : std::bit_cast<uint16_t>(static_cast<_Float16>(sum));
      ASSERT_EQ(std::bit_cast<uint16_t>(sums[i]), bits) << i << " " << shift;
      if (i % 997 == 0) {
        auto alone = combined<_Float16>(Reduction::sum, DType::f16, {every[i]},
                                        {other[i]});
        ASSERT_EQ(std::bit_cast<uint16_t>(alone[0]), bits);
      }
    }
  }
}

TEST(Combine, RoundsBf16SumsToEven) {
  // 1 + 2^-8 is half way to 1 + 2^-7, 1 + 2^-7 + 2^-8 half way to 1 + 2^-6.
  EXPECT_EQ(combined<uint16_t>(Reduction::sum, DType::bf16, {0x3f80, 0x3f81},
                               {0x3b80, 0x3b80}),
            (std::vector<uint16_t>{0x3f80, 0x3f82}));
  EXPECT_EQ(combined<uint16_t>(Reduction::sum, DType::bf16, {0x7f80, 0x7f7f},
                               {0xff80, 0x7f7f}),
            (std::vector<uint16_t>{0x7fc0, 0x7f80}));
  EXPECT_EQ(combined<uint16_t>(Reduction::minimum, DType::bf16,
                               {0x3f80, 0x7fff}, {0xbf80, 0x3f80}),
            (std::vector<uint16_t>{0xbf80, 0x7fc0}));
}

TEST(Combine, FlushesDenormalsAsTheThreadDoes) {
  float small = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(combined<float>(Reduction::sum, DType::f32, {small}, {small})[0],
            2 * small);
  FlushDenormals mode;
  auto flushed = combined<float>(Reduction::sum, DType::f32, {small}, {small});
  EXPECT_EQ(std::bit_cast<uint32_t>(flushed[0]), 0u);
}

/// Adjacent values first; a last one without a partner goes up as it is.
TEST(Combine, AddsManyByOneTree) {
  Collective sum{.count = 100};
  for (int ranks = 2; ranks <= 17; ++ranks) {
    std::vector<Bytes> values = valuesOfRanks(sum, ranks);
    for (int result = 0; result < ranks; ++result) {
      std::vector<Bytes> copies = values;
      std::vector<uint8_t *> list;
      for (Bytes &copy : copies)
        list.push_back(copy.data());
      auto at = static_cast<size_t>(result);
      combineAll(sum.reduction, sum.type, list, copies[at].data(), sum.count);
      EXPECT_EQ(copies[at], serialTree(sum, values, 0, values.size()));
    }
  }
}

TEST(Combine, LeavesAloneWhatHasNoPartner) {
  float values[] = {1, -1, -0.f};
  uint8_t *list[3];
  for (int i = 0; i < 3; ++i)
    list[i] = reinterpret_cast<uint8_t *>(&values[i]);
  combineAll(Reduction::sum, DType::f32, list, &values[2], 1);
  EXPECT_EQ(values[2], 0);
  // ((0+1)+(2+3))+4 and not 0+(1+(2+(3+4))).
  float large[] = {1e8, -1e8, 1, 1, 1e-8};
  uint8_t *five[5];
  for (int i = 0; i < 5; ++i)
    five[i] = reinterpret_cast<uint8_t *>(&large[i]);
  combineAll(Reduction::sum, DType::f32, five, &large[0], 1);
  EXPECT_EQ(large[0], 2);
}
