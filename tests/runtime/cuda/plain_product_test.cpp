// What is asked of a library in the place of a product with what goes with it.

#include "runtime/cuda/libraries/matmul_form.h"
#include "runtime/cuda/plain_product.h"

#include "tests/runtime/cuda/packed_command.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommand;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using List = std::vector<int64_t>;

namespace {

std::vector<LibraryCommandT> plain(const LibraryCommandT &command) {
  std::vector<LibraryCommandT> tables;
  for (const auto &part : plainProductOf(*PackedCommand(command))) {
    const auto &table = *flatbuffers::GetRoot<LibraryCommand>(part.data());
    // A card takes it.
    EXPECT_TRUE(matmulFormOf(table).ok()) << matmulFormOf(table).status();
    EXPECT_FALSE(sumsOperand(table));
    EXPECT_FALSE(hasEpilogue(table));
    table.UnPackTo(&tables.emplace_back());
  }
  return tables;
}

} // namespace

TEST(PlainProduct, SumsAnOperandByAProductWithOnes) {
  for (bool isOfWeights : {false, true}) {
    LibraryCommandT command = commandOf(
        LibraryOp::matmul,
        {tensorOf(DType::bf16, {8, 4}, {1, 8}), tensorOf(DType::bf16, {4, 16})},
        {tensorOf(DType::f32, {8, 16}, {24, 1}),
         tensorOf(DType::f32, isOfWeights ? List{1, 16} : List{8, 1})});
    command.scratch = 5;
    command.choices.push_back(
        std::make_unique<gradus::artifact::LibraryChoiceT>());
    EXPECT_TRUE(sumsOperand(*PackedCommand(command)));
    auto parts = plain(command);
    ASSERT_EQ(parts.size(), 2u);
    const auto &ones = *parts[0].inputs[isOfWeights ? 0 : 1];
    EXPECT_EQ(ones.buffer, kOnesBuffer);
    EXPECT_EQ(ones.dtype, DType::bf16);
    EXPECT_EQ(ones.dims, (isOfWeights ? List{1, 4} : List{4, 1}));
    EXPECT_TRUE(ones.strides.empty());
    ASSERT_EQ(parts[0].outputs.size(), 1u);
    EXPECT_EQ(parts[0].outputs[0]->dims,
              (isOfWeights ? List{1, 16} : List{8, 1}));
    // The product itself goes where it went.
    EXPECT_EQ(parts[1].outputs[0]->strides, (List{24, 1}));
    EXPECT_EQ(parts[1].outputs.size(), 1u);
    for (const LibraryCommandT &part : parts) {
      EXPECT_EQ(part.scratch, 5u);
      EXPECT_TRUE(part.choices.empty());
    }
  }
}

namespace {

/// gelu (tanh) of a product with a bias, and what it is of.
LibraryCommandT geluOf(DType result) {
  LibraryCommandT command = commandOf(
      LibraryOp::matmul,
      {tensorOf(DType::bf16, {8, 4}), tensorOf(DType::bf16, {4, 16}),
       tensorOf(result, {1, 16})},
      {tensorOf(result, {8, 16}, {24, 1}), tensorOf(result, {8, 16}, {24, 1})});
  activationOf(command) = gradus::artifact::Activation::gelu_tanh;
  command.outputs[0]->buffer = 7;
  return command;
}

} // namespace

/// So that it is rounded once, with what stands behind it.
TEST(PlainProduct, GivesWhatStandsBehindItAProductInF32) {
  EXPECT_TRUE(hasEpilogue(*PackedCommand(geluOf(DType::bf16))));
  EXPECT_FALSE(sumsOperand(*PackedCommand(geluOf(DType::bf16))));
  for (auto [result, buffer] :
       {std::pair(DType::bf16, kProductBuffer), {DType::f32, 7u}}) {
    auto parts = plain(geluOf(result));
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].inputs.size(), 2u);
    ASSERT_EQ(parts[0].outputs.size(), 1u);
    EXPECT_EQ(activationOf(parts[0]), gradus::artifact::Activation::none);
    EXPECT_EQ(parts[0].outputs[0]->dtype, DType::f32);
    EXPECT_EQ(parts[0].outputs[0]->strides, (List{24, 1}));
    EXPECT_EQ(parts[0].outputs[0]->buffer, buffer);
  }
}

TEST(PlainProduct, KnowsWhatStandsBehindAProduct) {
  for (auto activation :
       {gradus::artifact::Activation::none, gradus::artifact::Activation::relu})
    for (bool hasBias : {false, true}) {
      LibraryCommandT command = geluOf(DType::f32);
      activationOf(command) = activation;
      command.outputs.resize(1);
      command.inputs.resize(hasBias ? 3 : 2);
      EXPECT_EQ(hasEpilogue(*PackedCommand(command)),
                hasBias || activation != gradus::artifact::Activation::none);
    }
}
