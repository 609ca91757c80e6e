// How our products are cuBLASLt's.

#include "runtime/cuda/libraries/matmul_form.h"

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
  activationOf(command) = Activation::relu;
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

TEST(MatmulForm, SumsTheOperandThatTheSecondResultIsOf) {
  auto summed = [](std::vector<int64_t> sums, std::vector<int64_t> strides) {
    return formOf(commandOf(LibraryOp::matmul,
                            {tensorOf(DType::bf16, {8, 4}, {1, 8}),
                             tensorOf(DType::bf16, {4, 10})},
                            {tensorOf(DType::f32, {8, 10}, std::move(strides)),
                             tensorOf(DType::f32, std::move(sums))}))
        .summed;
  };
  EXPECT_EQ(summed({1, 10}, {}), Summed::a) << "the weights come first";
  EXPECT_EQ(summed({8, 1}, {}), Summed::b);
  EXPECT_EQ(summed({1, 10}, {1, 8}), Summed::b);
  EXPECT_EQ(summed({8, 1}, {1, 8}), Summed::a);
}

/// Whatever comes first: what is summed is vectors in one piece each.
TEST(MatmulForm, RefusesToSumWhatTheLibraryDoesNotSum) {
  using List = std::vector<int64_t>;
  for (const List &result : {List{}, List{1, 8}})
    for (bool isOfWeights : {false, true}) {
      EXPECT_EQ(
          wordsOf(commandOf(
              LibraryOp::matmul,
              {tensorOf(DType::bf16, {8, 4}),
               tensorOf(DType::bf16, {4, 10}, {1, 4})},
              {tensorOf(DType::f32, {8, 10}, result),
               tensorOf(DType::f32, isOfWeights ? List{1, 10} : List{8, 1})})),
          std::string("cuBLASLt sums an operand whose elements that go "
                      "into different sums lie together, and those of "
                      "this ") +
              (isOfWeights ? "matrix of weights" : "source") + " go into one");
    }
}

TEST(MatmulForm, RefusesSumsThatTheLibraryDoesNotWrite) {
  auto words = [](LibraryTensorT sums, std::vector<int64_t> batch) {
    auto tensor = [&](int64_t rows, int64_t columns, DType dtype) {
      std::vector<int64_t> dims = batch;
      dims.insert(dims.end(), {rows, columns});
      return tensorOf(dtype, dims);
    };
    return wordsOf(
        commandOf(LibraryOp::matmul,
                  {tensor(8, 4, DType::bf16), tensor(4, 10, DType::bf16)},
                  {tensor(8, 10, DType::f32), std::move(sums)}));
  };
  const std::string before = "cuBLASLt sums operands of one product into 10 "
                             "elements of f32 that lie together, and these "
                             "are ";
  EXPECT_EQ(words(tensorOf(DType::f32, {1, 10}), {}), "");
  EXPECT_EQ(words(tensorOf(DType::bf16, {1, 10}), {}), before + "1x10xbf16");
  EXPECT_EQ(words(tensorOf(DType::f32, {1, 10}, {20, 2}), {}),
            before + "1x10xf32");
  EXPECT_EQ(words(tensorOf(DType::f32, {3, 1, 10}), {3}),
            before + "3x1x10xf32");
  EXPECT_EQ(words(tensorOf(DType::f32, {1, 1}), {}), before + "1x1xf32");
}

/// Sources that are joined to one product have one sum of weights, not several.
TEST(MatmulForm, RefusesSumsOfEachOfJoinedProducts) {
  EXPECT_EQ(wordsOf(commandOf(LibraryOp::matmul,
                              {tensorOf(DType::f32, {1000, 3, 8}),
                               tensorOf(DType::f32, {1, 8, 4})},
                              {tensorOf(DType::f32, {1000, 3, 4}),
                               tensorOf(DType::f32, {1000, 1, 4})})),
            "cuBLASLt sums operands of one product into 4 elements of f32 that "
            "lie together, and these are 1000x1x4xf32");
}

TEST(MatmulForm, HasWhatGeluIsOfBesideTheResult) {
  auto command = [](DType dtype, LibraryTensorT kept, int64_t columns) {
    auto made =
        commandOf(LibraryOp::matmul,
                  {tensorOf(dtype, {8, 4}), tensorOf(dtype, {4, columns})},
                  {tensorOf(kept.dtype, {8, columns}), std::move(kept)});
    activationOf(made) = Activation::gelu_tanh;
    return made;
  };
  EXPECT_TRUE(formOf(command(DType::bf16, tensorOf(DType::bf16, {8, 16}), 16))
                  .hasGeluInput);
  const std::string before =
      "cuBLASLt keeps what gelu_tanh is of in the type of all others, as one "
      "result lies, by rows of a multiple of 8 elements, and this is ";
  EXPECT_EQ(wordsOf(command(DType::bf16, tensorOf(DType::f32, {8, 16}), 16)),
            before + "8x16xf32");
  EXPECT_EQ(wordsOf(command(DType::bf16, tensorOf(DType::bf16, {8, 12}), 12)),
            before + "8x12xbf16");
  EXPECT_EQ(
      wordsOf(command(DType::f32, tensorOf(DType::f32, {8, 16}, {1, 8}), 16)),
      before + "8x16xf32");

  auto gradient =
      commandOf(LibraryOp::matmul,
                {tensorOf(DType::f16, {8, 4}), tensorOf(DType::f16, {4, 16}),
                 tensorOf(DType::f16, {8, 16})},
                {tensorOf(DType::f16, {8, 16})});
  activationOf(gradient) = Activation::gelu_tanh_gradient;
  EXPECT_TRUE(formOf(gradient).hasGeluInput);
  EXPECT_FALSE(formOf(gradient).hasBias);
  gradient.inputs[2]->strides = {32, 1};
  EXPECT_EQ(wordsOf(gradient), before + "8x16xf16");
}

TEST(MatmulForm, RefusesWhatTheLibraryHasNot) {
  LibraryCommandT command =
      product(tensorOf(DType::bf16, {8, 4}), tensorOf(DType::bf16, {4, 10}),
              tensorOf(DType::f16, {8, 10}));
  EXPECT_EQ(wordsOf(command), "cuBLASLt multiplies no bf16 by bf16 into f16");
  command.outputs[0]->dtype = DType::f32;
  activationOf(command) = Activation::tanh;
  EXPECT_EQ(wordsOf(command), "cuBLASLt has no tanh behind a product");
  activationOf(command) = Activation::none;
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
