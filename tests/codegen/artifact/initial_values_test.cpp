#include "codegen/artifact/initial_values.h"

#include "ir/philox.h"
#include "tests/codegen/program_text.h"

#include "llvm/ADT/APFloat.h"

#include <cstring>

using namespace gradus;

static const char *const states = R"(
gradus.program @p {
  gradus.state @zeros : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @two : tensor<4xf32> {role = #gradus.role<slot>, init = #gradus.init<constant, 2.0 : f64>}
  gradus.state @dense : tensor<64x100xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @gauss : tensor<100000xf32> {role = #gradus.role<parameter>, init = #gradus.init<normal, 0.5 : f64>}
  gradus.state @given : tensor<2xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 3.0]> : tensor<2xf32>}
})";

static std::vector<float> floats(StateOp state, uint64_t seed) {
  std::vector<char> bytes = initialBytes(state, seed);
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(InitialValues, FillsNeedNoBytes) {
  ProgramText text(states);
  EXPECT_EQ(uniformValue(text.program().getState("zeros")), 0.0);
  EXPECT_EQ(uniformValue(text.program().getState("two")), 2.0);
  EXPECT_FALSE(uniformValue(text.program().getState("dense")));
  EXPECT_FALSE(uniformValue(text.program().getState("given")));
}

TEST(InitialValues, AModelsOwnWeightsStayAsTheyAre) {
  ProgramText text(states);
  EXPECT_EQ(floats(text.program().getState("given"), 0),
            (std::vector<float>{1, 3}));
}

/// The artifact has the whole, of which each rank reads its part.
TEST(InitialValues, AreOfTheWholeThatRanksHavePartsOf) {
  ProgramText text(R"(
gradus.program @p {
  gradus.state @rows : tensor<2x1xf32> {part_of = tensor<3x1xf32>, role = #gradus.role<slot>, value = dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>}
  gradus.state @drawn : tensor<4xf32> {part_of = tensor<7xf32>, role = #gradus.role<slot>, init = #gradus.init<uniform, 0.5 : f64>}
  gradus.state @even : tensor<2xf32> {part_of = tensor<3xf32>, role = #gradus.role<slot>, init = #gradus.init<constant, 2.0 : f64>}
})");
  StateOp rows = text.program().getState("rows");
  EXPECT_EQ(floats(rows, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(wholeType(rows).getDimSize(0), 3);
  EXPECT_EQ(floats(text.program().getState("drawn"), 0).size(), 7u);
  EXPECT_EQ(uniformValue(text.program().getState("even")), 2.0);
}

TEST(InitialValues, KaimingFillsItsIntervalAndDependsOnTheSeed) {
  ProgramText text(states);
  auto values = floats(text.program().getState("dense"), 7);
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -0.1f);
  EXPECT_LE(*high, 0.1f);
  EXPECT_LT(*low, -0.099f);
  EXPECT_GT(*high, 0.099f);
  EXPECT_EQ(values, floats(text.program().getState("dense"), 7));
  EXPECT_NE(values, floats(text.program().getState("dense"), 8));
}

TEST(InitialValues, NormalHasItsDeviation) {
  ProgramText text(states);
  double sum = 0, squares = 0;
  auto values = floats(text.program().getState("gauss"), 1);
  for (float value : values) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / values.size(), 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / values.size()), 0.5, 0.01);
}

// More numbers than one block has, and no multiple of the lanes.
TEST(InitialValues, EachNumberIsThatOfItsPlace) {
  constexpr uint64_t count = (1 << 20) + 16 * 1024 + 5;
  ProgramText text(R"(
gradus.program @p {
  gradus.state @uniform : tensor<1064965xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.3 : f64>}
  gradus.state @normal : tensor<1064965xf32> {role = #gradus.role<parameter>, init = #gradus.init<normal, 0.3 : f64>}
  gradus.state @half : tensor<37xbf16> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 1.0 : f64>}
})");
  Philox uniform(9, "uniform"), normal(9, "normal"), half(9, "half");
  auto uniforms = floats(text.program().getState("uniform"), 9),
       normals = floats(text.program().getState("normal"), 9);
  ASSERT_EQ(uniforms.size(), count);
  ASSERT_EQ(normals.size(), count);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; ++i)
    wrong += uniforms[i] != float(0.3 * (uniform.uniform(i) * 2 - 1)) ||
             normals[i] != float(0.3 * normal.normal(i));
  EXPECT_EQ(wrong, 0u);
  std::vector<char> bytes = initialBytes(text.program().getState("half"), 9);
  ASSERT_EQ(bytes.size(), 37u * 2);
  for (uint64_t i = 0; i < 37; ++i) {
    llvm::APFloat number(half.uniform(i) * 2 - 1);
    bool lost;
    number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven,
                   &lost);
    uint16_t stored;
    std::memcpy(&stored, &bytes[i * 2], 2);
    EXPECT_EQ(stored, number.bitcastToAPInt().getZExtValue()) << i;
  }
}

TEST(Philox, GivesThePublishedWords) {
  // Known answers of the authors' library Random123 (kat_vectors).
  EXPECT_EQ(Philox::rounds({0, 0, 0, 0}, 0, 0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(Philox::rounds({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                           0xa4093822, 0x299f31d0),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                     0x24126ea1}));
}
