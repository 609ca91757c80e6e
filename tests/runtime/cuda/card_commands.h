// Library commands of each form that cards are asked for.
#pragma once

#include "tests/runtime/cuda/convolutions.h"
#include "tests/runtime/cuda/packed_command.h"

#include <optional>
#include <string>

namespace gradus::runtime::cuda::test {

struct CardCommand {
  std::string name;
  artifact::LibraryCommandT command;
};
using CardCommands = std::vector<CardCommand>;

//===-- products ----------------------------------------------------------===//

/// Types and layouts of a product of matrices; no strides: dense.
struct ProductForm {
  std::string name;
  artifact::DType dtype;
  std::vector<int64_t> source, weights, result;
  std::vector<int64_t> sourceStrides = {}, weightsStrides = {},
                       resultStrides = {};
  std::vector<int64_t> bias = {}; // none
  std::optional<artifact::DType> resultType = {};
  artifact::Activation activation = artifact::Activation::none;
};

inline CardCommand productOf(const ProductForm &form) {
  artifact::DType result = form.resultType.value_or(form.dtype);
  std::vector<artifact::LibraryTensorT> inputs = {
      tensorOf(form.dtype, form.source, form.sourceStrides),
      tensorOf(form.dtype, form.weights, form.weightsStrides)};
  if (!form.bias.empty())
    inputs.push_back(tensorOf(result, form.bias));
  CardCommand made{form.name, commandOf(artifact::LibraryOp::matmul, inputs,
                                        {tensorOf(result, form.result,
                                                  form.resultStrides)})};
  activationOf(made.command) = form.activation;
  return made;
}

inline CardCommands products() {
  using artifact::Activation;
  using artifact::DType;
  CardCommands made;
  auto add = [&](const ProductForm &form) { made.push_back(productOf(form)); };
  for (DType dtype : {DType::bf16, DType::f16})
    for (Activation activation :
         {Activation::none, Activation::relu, Activation::gelu_tanh})
      add({.name = std::string("linear with ") +
                   artifact::EnumNameActivation(activation),
           .dtype = dtype,
           .source = {40, 96},
           .weights = {96, 64},
           .result = {40, 64},
           .weightsStrides = {1, 96},
           .bias = {1, 64},
           .activation = activation});
  for (DType dtype : {DType::bf16, DType::f16})
    add({.name = "16 bits into f32",
         .dtype = dtype,
         .source = {40, 96},
         .weights = {96, 64},
         .result = {40, 64},
         .weightsStrides = {1, 96},
         .resultType = DType::f32});
  for (DType dtype : {DType::f32, DType::bf16}) {
    add({.name = "batch",
         .dtype = dtype,
         .source = {3, 24, 33},
         .weights = {3, 33, 20},
         .result = {3, 24, 20}});
    add({.name = "one matrix of weights for a batch",
         .dtype = dtype,
         .source = {3, 24, 33},
         .weights = {1, 33, 20},
         .result = {3, 24, 20}});
    add({.name = "batch of two axes",
         .dtype = dtype,
         .source = {2, 3, 24, 33},
         .weights = {2, 3, 33, 20},
         .result = {2, 3, 24, 20}});
    add({.name = "batch of two axes, the source transposed",
         .dtype = dtype,
         .source = {2, 3, 24, 33},
         .weights = {2, 3, 33, 20},
         .result = {2, 3, 24, 20},
         .sourceStrides = {2376, 792, 1, 24}});
    add({.name = "result by columns",
         .dtype = dtype,
         .source = {24, 33},
         .weights = {33, 20},
         .result = {24, 20},
         .resultStrides = {1, 24},
         .bias = {24, 1}});
    add({.name = "rows wider than they are long",
         .dtype = dtype,
         .source = {24, 33},
         .weights = {33, 20},
         .result = {24, 20},
         .sourceStrides = {40, 1},
         .weightsStrides = {24, 1},
         .resultStrides = {28, 1},
         .bias = {1, 20}});
  }
  return made;
}

/// With what cuBLASLt has for gradients: what gelu is of, its slopes there, and
/// the sum of an operand.
inline CardCommands productsOfGradients() {
  using artifact::Activation;
  using artifact::DType;
  using Dims = std::vector<int64_t>;
  CardCommands made;
  auto add = [&](const ProductForm &form) -> artifact::LibraryCommandT & {
    made.push_back(productOf(form));
    return made.back().command;
  };
  auto addTo = [](auto &tensors, artifact::LibraryTensorT tensor) {
    tensors.push_back(
        std::make_unique<artifact::LibraryTensorT>(std::move(tensor)));
  };
  for (DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    ProductForm linear{.name = "gelu's input kept",
                       .dtype = dtype,
                       .source = {40, 96},
                       .weights = {96, 64},
                       .result = {40, 64},
                       .weightsStrides = {1, 96}};
    linear.activation = Activation::gelu_tanh;
    addTo(add(linear).outputs, tensorOf(dtype, {40, 64}));
    linear.bias = {1, 64};
    addTo(add(linear).outputs, tensorOf(dtype, {40, 64}));
    linear.name = "gelu's gradient";
    linear.bias = {40, 64};
    linear.activation = Activation::gelu_tanh_gradient;
    add(linear);

    // Gradients of weights, as they lie in either order.
    ProductForm gradient{.name = "a sum",
                         .dtype = dtype,
                         .source = {96, 40},
                         .weights = {40, 64},
                         .result = {96, 64},
                         .sourceStrides = {1, 96},
                         .resultType = DType::f32};
    for (const Dims &sums : {Dims{1, 64}, Dims{96, 1}})
      for (const Dims &strides : {Dims{}, Dims{1, 96}}) {
        gradient.resultStrides = strides;
        addTo(add(gradient).outputs, tensorOf(DType::f32, sums));
      }
  }
  return made;
}

//===-- convolutions ------------------------------------------------------===//

struct ConvolutionForm {
  std::string name;
  std::vector<int64_t> source, weights, result;
  std::vector<int64_t> strides = {}, dilations = {};
  std::vector<int64_t> padsBegin = {}, padsEnd = {};
};

/// A convolution and both its gradients.
inline void addConvolutions(const ConvolutionForm &form, artifact::DType dtype,
                            bool isChannelsLast, CardCommands &to) {
  using artifact::LibraryOp;
  auto tensor = [&](const std::vector<int64_t> &dims) {
    return isChannelsLast ? channelsLast(dtype, dims) : tensorOf(dtype, dims);
  };
  auto x = tensor(form.source), w = tensor(form.weights),
       y = tensor(form.result);
  for (auto &command :
       {commandOf(LibraryOp::convolution, {x, w}, {y}),
        commandOf(LibraryOp::convolution_backward_data, {y, w}, {x}),
        commandOf(LibraryOp::convolution_backward_weights, {x, y}, {w})}) {
    to.push_back(
        {form.name + ", " + EnumNameLibraryOp(command.op.type), command});
    artifact::WindowsT &made = windowsOf(to.back().command);
    made.strides = form.strides;
    made.dilations = form.dilations;
    made.pads_begin = form.padsBegin;
    made.pads_end = form.padsEnd;
  }
}

inline CardCommands convolutions() {
  using artifact::DType;
  CardCommands made;
  const ConvolutionForm squares[] = {{.name = "strides",
                                      .source = {4, 16, 11, 11},
                                      .weights = {32, 16, 3, 3},
                                      .result = {4, 32, 6, 6},
                                      .strides = {2, 2},
                                      .padsBegin = {1, 1},
                                      .padsEnd = {1, 1}},
                                     {.name = "dilations",
                                      .source = {2, 16, 13, 13},
                                      .weights = {16, 16, 3, 3},
                                      .result = {2, 16, 13, 13},
                                      .dilations = {2, 2},
                                      .padsBegin = {2, 2},
                                      .padsEnd = {2, 2}},
                                     {.name = "pads behind alone",
                                      .source = {2, 16, 12, 12},
                                      .weights = {16, 16, 3, 3},
                                      .result = {2, 16, 6, 6},
                                      .strides = {2, 2},
                                      .padsBegin = {0, 0},
                                      .padsEnd = {1, 1}}};
  for (const ConvolutionForm &form : squares) {
    addConvolutions(form, DType::bf16, /*isChannelsLast=*/true, made);
    addConvolutions(form, DType::f16, /*isChannelsLast=*/true, made);
    addConvolutions(form, DType::f32, /*isChannelsLast=*/false, made);
  }
  const ConvolutionForm others[] = {{.name = "two groups",
                                     .source = {2, 8, 10, 10},
                                     .weights = {2, 6, 4, 3, 3},
                                     .result = {2, 12, 8, 8}},
                                    {.name = "a group each channel",
                                     .source = {2, 8, 10, 10},
                                     .weights = {8, 1, 1, 3, 3},
                                     .result = {2, 8, 8, 8}},
                                    {.name = "one axis",
                                     .source = {2, 8, 20},
                                     .weights = {12, 8, 5},
                                     .result = {2, 12, 16}},
                                    {.name = "three axes",
                                     .source = {1, 4, 5, 6, 6},
                                     .weights = {8, 4, 3, 3, 3},
                                     .result = {1, 8, 3, 4, 4}}};
  for (const ConvolutionForm &form : others)
    addConvolutions(form, DType::f32, /*isChannelsLast=*/false, made);
  return made;
}

//===-- attention ---------------------------------------------------------===//

/// A mask of scores, sizes of 1 repeat.
struct MaskForm {
  artifact::DType dtype;
  std::vector<int64_t> dims;
};

/// Of so many queries to so many keys, heads inside, and its gradients.
inline void addAttention(artifact::DType dtype, int64_t queries, int64_t keys,
                         bool isCausal, CardCommands &to,
                         const std::optional<MaskForm> &mask = {}) {
  using artifact::LibraryOp;
  constexpr int64_t n = 2, h = 2, d = 32;
  auto heads = [&](int64_t t) {
    return tensorOf(dtype, {n, h, t, d}, {t * h * d, d, h * d, 1});
  };
  auto q = heads(queries), k = heads(keys),
       rows = tensorOf(artifact::DType::f32, {n, h, queries, 1});
  std::string name = std::to_string(queries) + " queries, " +
                     std::to_string(keys) + " keys" +
                     (isCausal ? ", causal" : "");
  for (auto &command : {commandOf(LibraryOp::attention, {q, k, k}, {q, rows}),
                        commandOf(LibraryOp::attention_backward,
                                  {q, k, k, q, q, rows}, {q, k, k})}) {
    to.push_back({name + ", " + EnumNameLibraryOp(command.op.type), command});
    scoresOf(to.back().command).scale = 0.25;
    scoresOf(to.back().command).causal = isCausal;
    if (!mask)
      continue;
    to.back().name += ", masked";
    to.back().command.inputs.push_back(
        std::make_unique<artifact::LibraryTensorT>(
            tensorOf(mask->dtype, mask->dims)));
  }
}

/// With masks as models write them: of each sequence, of its keys alone, of
/// heads, and of all.
inline void addMaskedAttention(CardCommands &to) {
  using artifact::DType;
  for (auto [heads, mask] :
       {std::pair(DType::bf16, DType::f32), {DType::f16, DType::f16}})
    for (std::vector<int64_t> dims : {std::vector<int64_t>{2, 1, 64, 96},
                                      {2, 1, 1, 96},
                                      {1, 2, 64, 96},
                                      {1, 1, 64, 96}})
      addAttention(heads, 64, 96, false, to, MaskForm{mask, dims});
  addAttention(DType::bf16, 64, 64, true, to,
               MaskForm{DType::f32, {2, 1, 1, 64}});
}

inline CardCommands attentions() {
  CardCommands made;
  for (bool isCausal : {false, true}) {
    addAttention(artifact::DType::bf16, 64, 64, isCausal, made);
    addAttention(artifact::DType::f16, 64, 64, isCausal, made);
    addAttention(artifact::DType::bf16, 64, 96, isCausal, made);
    addAttention(artifact::DType::bf16, 96, 64, isCausal, made);
  }
  addMaskedAttention(made);
  return made;
}

//===-- what none takes ---------------------------------------------------===//

/// Products alone.
inline CardCommands refusedProducts() {
  using artifact::Activation;
  using artifact::DType;
  CardCommands made;
  auto addProduct = [&](const ProductForm &form) {
    made.push_back(productOf(form));
  };
  addProduct({.name = "cuBLASLt takes one batch, and the batch axes of this "
                      "product have strides that are none",
              .dtype = DType::f32,
              .source = {2, 3, 24, 33},
              .weights = {2, 3, 33, 20},
              .result = {2, 3, 24, 20},
              .sourceStrides = {2376, 33, 99, 1}});
  addProduct({.name = "cuBLASLt reads matrices whose rows or columns lie "
                      "together, and the source has strides 2 and 66",
              .dtype = DType::f32,
              .source = {24, 33},
              .weights = {33, 20},
              .result = {24, 20},
              .sourceStrides = {66, 2}});
  addProduct({.name = "cuBLASLt writes matrices whose rows or columns lie "
                      "together, and the result has strides 40 and 2",
              .dtype = DType::f32,
              .source = {24, 33},
              .weights = {33, 20},
              .result = {24, 20},
              .resultStrides = {40, 2}});
  addProduct({.name = "cuBLASLt multiplies no bf16 by bf16 into f16",
              .dtype = DType::bf16,
              .source = {24, 33},
              .weights = {33, 20},
              .result = {24, 20},
              .resultType = DType::f16});
  addProduct({.name = "cuBLASLt has no tanh behind a product",
              .dtype = DType::f32,
              .source = {24, 33},
              .weights = {33, 20},
              .result = {24, 20},
              .activation = Activation::tanh});
  addProduct({.name = "cuBLASLt adds a bias of one element for each of the 20 "
                      "in a row of the result, and this one is 24x1xf32",
              .dtype = DType::f32,
              .source = {24, 33},
              .weights = {33, 20},
              .result = {24, 20},
              .bias = {24, 1}});
  return made;
}

/// Sums of operands whose elements lie apart.
inline CardCommands refusedSums() {
  using artifact::DType;
  CardCommands made;
  ProductForm sum{.name =
                      "cuBLASLt sums an operand whose elements that go into "
                      "different sums lie together, and those of this "
                      "source go into one",
                  .dtype = DType::f32,
                  .source = {24, 33},
                  .weights = {33, 20},
                  .result = {24, 20}};
  auto addSum = [&](const std::vector<int64_t> &dims) {
    made.push_back(productOf(sum));
    made.back().command.outputs.push_back(
        std::make_unique<artifact::LibraryTensorT>(tensorOf(DType::f32, dims)));
  };
  addSum({24, 1});
  sum.name = "cuBLASLt sums an operand whose elements that go into different "
             "sums lie together, and those of this matrix of weights go into "
             "one";
  sum.weightsStrides = {1, 33};
  addSum({1, 20});
  return made;
}

/// Verified commands that no library of cards has, by what it says to them.
inline CardCommands refusedCommands() {
  using artifact::Activation;
  using artifact::DType;
  using artifact::LibraryOp;
  CardCommands made = refusedProducts();
  for (CardCommand &each : refusedSums())
    made.push_back(std::move(each));

  auto source = tensorOf(DType::f32, {2, 8, 10, 10}),
       weights = tensorOf(DType::f32, {12, 8, 3, 3}),
       result = tensorOf(DType::f32, {2, 12, 8, 8}),
       bias = tensorOf(DType::f32, {12});
  made.push_back(
      {"convolutions of cards have no bias behind them",
       commandOf(LibraryOp::convolution, {source, weights, bias}, {result})});
  made.push_back(
      {"convolutions of cards have no relu behind them",
       commandOf(LibraryOp::convolution, {source, weights}, {result})});
  activationOf(made.back().command) = Activation::relu;

  auto heads = tensorOf(DType::f32, {2, 2, 8, 16}),
       rows = tensorOf(DType::f32, {2, 2, 8, 1});
  made.push_back(
      {"cuDNN attends in f16 or bf16, all of one type, and this is "
       "attention of 2x2x8x16xf32 to 2x2x8x16xf32",
       commandOf(LibraryOp::attention, {heads, heads, heads}, {heads, rows})});
  return made;
}

} // namespace gradus::runtime::cuda::test
