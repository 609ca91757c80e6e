// Tensors of all layouts and types as floats, and what activations make of
// them.

#include "runtime/emulated/emulated_numbers.h"

#include "tests/runtime/cuda/run_op.h"

#include <cmath>

using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::Activation;
using gradus::artifact::DType;

namespace {

DevicePointer addressOf(const void *data) {
  return reinterpret_cast<DevicePointer>(data);
}

const StridedTensor kTransposed{DType::f32, {2, 3}, {1, 2}};

} // namespace

TEST(EmulatedNumbers, FollowStrides) {
  std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(numbersAt(kTransposed, addressOf(memory.data())),
            (Numbers{1, 3, 5, 2, 4, 6}));
  std::vector<float> written(6);
  Numbers numbers = {10, 20, 30, 40, 50, 60};
  writeNumbers(kTransposed, numbers.data(), addressOf(written.data()));
  EXPECT_EQ(written, (std::vector<float>{10, 40, 20, 50, 30, 60}));
}

/// To nearest, ties to even, once.
TEST(EmulatedNumbers, AreRoundedToTheirType) {
  Numbers numbers = {1, 1.00390625f, 1.01171875f, -3.140625f};
  for (auto [dtype, expected] :
       {std::pair(DType::f32, numbers),
        {DType::bf16, Numbers{1, 1, 1.015625f, -3.140625f}},
        {DType::f16, numbers}}) {
    StridedTensor tensor{dtype, {4}, {1}};
    std::vector<uint8_t> memory(16);
    writeNumbers(tensor, numbers.data(), addressOf(memory.data()));
    EXPECT_EQ(numbersAt(tensor, addressOf(memory.data())), expected);
  }
}

TEST(EmulatedNumbers, HaveThreeTypes) {
  for (auto [dtype, is] : {std::pair(DType::f32, true),
                           {DType::f16, true},
                           {DType::bf16, true},
                           {DType::f64, false},
                           {DType::i32, false},
                           {DType::u8, false}})
    EXPECT_EQ(isNumberType(dtype), is);
}

TEST(EmulatedNumbers, AreMatricesOfTheLastTwoAxes) {
  std::vector<float> memory(24);
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = float(i);
  Matrices matrices({DType::f32, {2, 2, 2, 3}, {12, 6, 3, 1}});
  EXPECT_EQ(matrices.count(), 4u);
  Numbers numbers;
  matrices.read(addressOf(memory.data()), 2, numbers);
  EXPECT_EQ(numbers, (Numbers{12, 13, 14, 15, 16, 17}));
  Matrices turned = Matrices::transposed({DType::f32, {2, 3}, {3, 1}});
  EXPECT_EQ(turned.rows(), 3);
  turned.read(addressOf(memory.data()), 0, numbers);
  EXPECT_EQ(numbers, (Numbers{0, 3, 1, 4, 2, 5}));
  turned.write({0, 1, 2, 3, 4, 5}, addressOf(memory.data()), 0);
  EXPECT_EQ(Numbers(memory.begin(), memory.begin() + 6),
            (Numbers{0, 2, 4, 1, 3, 5}));
}

TEST(EmulatedNumbers, OfSizeOneStandForAll) {
  Matrices one(broadcast({DType::f32, {1, 1, 2}, {2, 2, 1}}, {3, 2, 2}));
  EXPECT_EQ(one.count(), 3u);
  EXPECT_FALSE(one.isRepeated(0));
  EXPECT_TRUE(one.isRepeated(1));
  std::vector<float> memory = {7, 8};
  Numbers numbers;
  one.read(addressOf(memory.data()), 2, numbers);
  EXPECT_EQ(numbers, (Numbers{7, 8, 7, 8}));
}

TEST(EmulatedNumbers, AreActivated) {
  for (auto [activation, expected] :
       {std::pair(Activation::none, Numbers{-1, 0, 2}),
        {Activation::relu, {0, 0, 2}},
        {Activation::tanh, {-0.76159416f, 0, 0.96402758f}},
        {Activation::gelu_tanh, {-0.15880801f, 0, 1.95459769f}},
        {Activation::gelu_erf, {-0.15865525f, 0, 1.95449974f}},
        {Activation::sigmoid, {0.26894142f, 0.5f, 0.88079708f}}}) {
    Numbers numbers = {-1, 0, 2};
    activate(activation, numbers);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(numbers[i], expected[i], 1e-6) << int(activation);
  }
  Numbers none = {NAN};
  activate(Activation::relu, none);
  EXPECT_TRUE(std::isnan(none[0]));
}
