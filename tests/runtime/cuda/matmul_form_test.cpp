// How our products are cuBLASLt's.

#include "runtime/cuda/matmul_form.h"

#include "tests/runtime/cuda/packed_command.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using gradus::artifact::Activation;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using gradus::artifact::LibraryTensorT;

namespace {

LibraryCommandT product(LibraryTensorT source, LibraryTensorT weights,
                        LibraryTensorT result) {
  return commandOf(LibraryOp::matmul, {source, weights}, {result});
}

MatmulForm formOf(const LibraryCommandT &command) {
  auto form = matmulFormOf(*PackedCommand(command));
  EXPECT_TRUE(form.ok()) << form.status();
  return form.ok() ? *form : MatmulForm();
}

std::string wordsOf(const LibraryCommandT &command) {
  return matmulFormOf(*PackedCommand(command)).status().message();
}

/// "T 3x4 lead 5 batch 6"
std::string toText(const StoredMatrix &matrix) {
  return inWords(matrix.isTransposed ? "T " : "N ", matrix.rows, "x",
                 matrix.columns, " lead ", matrix.lead, " batch ",
                 matrix.batchStride);
}

} // namespace

// [32,784] x [784,10] -> [32,10] is the 10x32 product of 10x784 and 784x32.
TEST(MatmulForm, MultipliesRowsAsColumnsTheOtherWayAround) {
  MatmulForm form = formOf(product(tensorOf(DType::f32, {32, 784}),
                                   tensorOf(DType::f32, {784, 10}),
                                   tensorOf(DType::f32, {32, 10})));
  EXPECT_TRUE(form.isSwapped);
  EXPECT_EQ(toText(form.a), "N 10x784 lead 10 batch 0");
  EXPECT_EQ(toText(form.b), "N 784x32 lead 784 batch 0");
  EXPECT_EQ(toText(form.d), "N 10x32 lead 10 batch 0");
  EXPECT_EQ(form.batches, 1);
}

// Rows of 12 elements, of which the last two are padding.
TEST(MatmulForm, TakesTransposedAndPaddedMatrices) {
  MatmulForm form = formOf(product(tensorOf(DType::bf16, {8, 4}, {1, 8}),
                                   tensorOf(DType::bf16, {4, 10}, {1, 4}),
                                   tensorOf(DType::f32, {8, 10}, {12, 1})));
  EXPECT_EQ(toText(form.a), "T 4x10 lead 4 batch 0");
  EXPECT_EQ(toText(form.b), "T 8x4 lead 8 batch 0");
  EXPECT_EQ(toText(form.d), "N 10x8 lead 12 batch 0");
}

TEST(MatmulForm, LeavesAResultOfColumnsAsItIs) {
  MatmulForm form = formOf(product(tensorOf(DType::f32, {8, 4}),
                                   tensorOf(DType::f32, {4, 10}),
                                   tensorOf(DType::f32, {8, 10}, {1, 8})));
  EXPECT_FALSE(form.isSwapped);
  EXPECT_EQ(toText(form.a), "T 4x8 lead 4 batch 0");
  EXPECT_EQ(toText(form.b), "T 10x4 lead 10 batch 0");
  EXPECT_EQ(toText(form.d), "N 8x10 lead 8 batch 0");
}

// Strides of an axis of one element say nothing.
TEST(MatmulForm, TakesVectorsWhateverTheirStrides) {
  MatmulForm form = formOf(product(tensorOf(DType::f32, {1, 4}, {77, 1}),
                                   tensorOf(DType::f32, {4, 10}),
                                   tensorOf(DType::f32, {1, 10}, {3, 1})));
  EXPECT_EQ(toText(form.b), "N 4x1 lead 4 batch 0");
  EXPECT_EQ(toText(form.d), "N 10x1 lead 10 batch 0");
  form = formOf(product(tensorOf(DType::f32, {8, 4}),
                        tensorOf(DType::f32, {4, 1}, {1, 1}),
                        tensorOf(DType::f32, {8, 1}, {1, 1})));
  EXPECT_EQ(toText(form.a), "N 1x4 lead 1 batch 0");
  EXPECT_EQ(toText(form.d), "N 1x8 lead 1 batch 0");
}

TEST(MatmulForm, HasOneBatchOfAllLeadingAxes) {
  MatmulForm form = formOf(product(tensorOf(DType::f32, {2, 3, 8, 4}),
                                   tensorOf(DType::f32, {2, 3, 4, 10}),
                                   tensorOf(DType::f32, {2, 3, 8, 10})));
  EXPECT_EQ(form.batches, 6);
  EXPECT_EQ(toText(form.a), "N 10x4 lead 10 batch 40");
  EXPECT_EQ(toText(form.b), "N 4x8 lead 4 batch 32");
  EXPECT_EQ(toText(form.d), "N 10x8 lead 10 batch 80");
}

TEST(MatmulForm, MultipliesBatchesByOneMatrixAsMoreRows) {
  MatmulForm form = formOf(product(tensorOf(DType::f32, {2, 3, 8, 4}),
                                   tensorOf(DType::f32, {1, 1, 4, 10}),
                                   tensorOf(DType::f32, {2, 3, 8, 10})));
  EXPECT_EQ(form.batches, 1);
  EXPECT_EQ(toText(form.b), "N 4x48 lead 4 batch 0");
  EXPECT_EQ(toText(form.d), "N 10x48 lead 10 batch 0");
  // Not where each batch has rows of its own to skip.
  form = formOf(product(tensorOf(DType::f32, {3, 8, 4}, {40, 4, 1}),
                        tensorOf(DType::f32, {1, 4, 10}),
                        tensorOf(DType::f32, {3, 8, 10})));
  EXPECT_EQ(form.batches, 3);
  EXPECT_EQ(toText(form.a), "N 10x4 lead 10 batch 0");
  EXPECT_EQ(toText(form.b), "N 4x8 lead 4 batch 40");
}

TEST(MatmulForm, AddsABiasOfARow) {
  LibraryCommandT command =
      commandOf(LibraryOp::matmul,
                {tensorOf(DType::bf16, {8, 4}), tensorOf(DType::bf16, {4, 10}),
                 tensorOf(DType::bf16, {1, 10})},
                {tensorOf(DType::bf16, {8, 10})});
  command.activation = Activation::relu;
  MatmulForm form = formOf(command);
  EXPECT_TRUE(form.hasBias);
  EXPECT_EQ(form.activation, Activation::relu);
  command.inputs[2]->dims = {8, 1};
  EXPECT_EQ(
      wordsOf(command),
      "cuBLASLt adds a bias of one element for each of the 10 in a row of "
      "the result, and this one is 8x1xbf16");
  command.inputs[2] =
      std::make_unique<LibraryTensorT>(tensorOf(DType::f32, {1, 10}));
  EXPECT_EQ(wordsOf(command), "cuBLASLt adds no bias of f32 to bf16");
}

TEST(MatmulForm, RefusesWhatTheLibraryHasNot) {
  LibraryCommandT command =
      product(tensorOf(DType::bf16, {8, 4}), tensorOf(DType::bf16, {4, 10}),
              tensorOf(DType::f16, {8, 10}));
  EXPECT_EQ(wordsOf(command), "cuBLASLt multiplies no bf16 by bf16 into f16");
  command.outputs[0]->dtype = DType::f32;
  command.activation = Activation::tanh;
  EXPECT_EQ(wordsOf(command), "cuBLASLt has no tanh behind a product");
  command.activation = Activation::none;
  command.inputs[0]->strides = {8, 2};
  EXPECT_EQ(
      wordsOf(command),
      "cuBLASLt reads matrices whose rows or columns lie together, and the "
      "source has strides 2 and 8");
  EXPECT_EQ(wordsOf(product(tensorOf(DType::f32, {2, 3, 8, 4}, {96, 4, 12, 1}),
                            tensorOf(DType::f32, {2, 3, 4, 10}),
                            tensorOf(DType::f32, {2, 3, 8, 10}))),
            "cuBLASLt takes one batch, and the batch axes of this product have "
            "strides that are none");
}
