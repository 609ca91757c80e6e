// Verifies a library command: its tensors are within their buffers, its shapes
// fit.
//
// oneDNN checks shapes as well, but only where it is installed; an artifact
// must be valid or invalid whatever is installed.

#include "runtime/artifact/attention_mask.h"
#include "runtime/artifact/verify.h"
#include "runtime/library_ops.h"
#include "runtime/status.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace gradus::runtime {

namespace {

using artifact::Activation;
using artifact::LibraryCommand;
using artifact::LibraryTensor;
using artifact::Windows;
using Dims = std::vector<int64_t>;

constexpr size_t kMostAxes = 12; // oneDNN's own limit
constexpr int64_t kMostSize = int64_t{1} << 40;
constexpr int64_t kMostWindow = 1 << 20; // strides, dilations, pads

std::string toText(const Dims &dims) {
  return toString(TensorType{DType::f32, dims});
}

//===-- tensors -----------------------------------------------------------===//

bool isLibraryType(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 ||
         dtype == DType::i32 || dtype == DType::i8 || dtype == DType::u8;
}

Status verifyAxes(const LibraryTensor &tensor, const Dims &dims) {
  size_t rank = dims.size();
  if (rank < 1 || rank > kMostAxes)
    return invalid("has ", rank, " axes");
  for (int64_t dim : dims)
    if (dim < 1 || dim > kMostSize)
      return invalid("has a size of ", dim);
  size_t strides = countOf(tensor.strides()),
         padded = countOf(tensor.padded_dims());
  if ((strides != 0 && strides != rank) || (padded != 0 && padded != rank))
    return invalid("has ", rank, " axes, ", strides, " strides and ", padded,
                   " padded sizes");
  return Status();
}

/// The number of elements; -1 if too large.
int64_t elementsOf(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count))
      return -1;
  return count;
}

Status verifyLayout(const artifact::Plan &plan, const LibraryTensor &tensor,
                    const Dims &dims, bool written) {
  Dims blocks = blocksPerAxis(tensor);
  if (blocks.empty())
    return invalid("has inner blocks that do not fit its axes");
  Dims padded =
      countOf(tensor.padded_dims()) ? valuesOf(tensor.padded_dims()) : dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (padded[i] < dims[i] || padded[i] > kMostSize ||
        padded[i] % blocks[i] != 0)
      return invalid("axis ", i, " of size ", dims[i], " is padded to ",
                     padded[i], " in blocks of ", blocks[i]);
    bool still = padded[i] == blocks[i];
    if (countOf(tensor.strides()) && tensor.strides()->Get(i) < (still ? 0 : 1))
      return invalid("has a stride of ", tensor.strides()->Get(i));
  }
  // Strides may let axes share memory; work on a tensor is bounded all the
  // same.
  BufferUse use = useOf(tensor, written);
  int64_t elements = elementsOf(padded), bytes = 0;
  if (elements < 0 || __builtin_mul_overflow(
                          elements, int64_t(bytesOf(tensor.dtype())), &bytes))
    use.bytes = UINT64_MAX;
  use.bytes = std::max(use.bytes, uint64_t(bytes));
  return verifyUse(plan, use, toText(dims));
}

Status verifyTensor(const artifact::Plan &plan, const LibraryTensor &tensor,
                    bool written) {
  if (tensor.dtype() > DType::MAX || !isLibraryType(tensor.dtype()))
    return invalid("has dtype ", nameOf(tensor.dtype()),
                   ", which the library does not take");
  if (!areAligned(tensor.dims(), tensor.strides(), tensor.padded_dims(),
                  tensor.inner_blocks(), tensor.inner_axes()))
    return invalid("has lists that are not aligned");
  GRADUS_TRY(verifyBuffer(plan, tensor.buffer(), written));
  Dims dims = valuesOf(tensor.dims());
  GRADUS_TRY(verifyAxes(tensor, dims));
  return verifyLayout(plan, tensor, dims, written);
}

using Tensors = flatbuffers::Vector<flatbuffers::Offset<LibraryTensor>>;

Status verifyTensors(const artifact::Plan &plan, const Tensors *tensors,
                     bool written) {
  for (size_t i = 0; i < countOf(tensors); ++i)
    GRADUS_TRY(at(verifyTensor(plan, *tensors->Get(i), written),
                  written ? "output " : "input ", i));
  return Status();
}

//===-- shapes ------------------------------------------------------------===//

Dims input(const LibraryCommand &command, size_t i) {
  return valuesOf(command.inputs()->Get(unsigned(i))->dims());
}

Dims output(const LibraryCommand &command, size_t i) {
  return valuesOf(command.outputs()->Get(unsigned(i))->dims());
}

bool isForCards(const artifact::Plan &plan) {
  return countOf(plan.images()) > 0;
}

Status verifyKnown(Activation activation) {
  if (activation > Activation::MAX)
    return invalid("asks for activation ", int(activation),
                   ", which this runtime does not know");
  return Status();
}

/// Whether each size is 1 or that of `whole`.
bool broadcastsTo(const Dims &dims, const Dims &whole) {
  if (dims.size() != whole.size())
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1 && dims[i] != whole[i])
      return false;
  return true;
}

Status verifyMatmul(const Dims &source, const Dims &weights, const Dims *bias,
                    const Dims &result) {
  size_t rank = result.size();
  bool fits = rank >= 2 && source.size() == rank && weights.size() == rank &&
              source[rank - 1] == weights[rank - 2] &&
              source[rank - 2] == result[rank - 2] &&
              weights[rank - 1] == result[rank - 1];
  for (size_t i = 0; fits && i + 2 < rank; ++i)
    fits =
        source[i] == result[i] && (weights[i] == result[i] || weights[i] == 1);
  if (!fits || (bias && !broadcastsTo(*bias, result)))
    return invalid("multiplies ", toText(source), " by ", toText(weights),
                   " into ", toText(result),
                   bias ? " with a bias of " + toText(*bias) : "");
  return Status();
}

/// Verifies the second result of a matmul: the input of its activation, or the
/// sums of one operand along k.
Status verifySecondResult(Activation activation, const Dims &second,
                          Dims result) {
  if (activation == Activation::none) {
    Dims ofSource = result, ofWeights = result;
    ofSource.back() = ofWeights.end()[-2] = 1;
    if (second != ofSource && second != ofWeights)
      return invalid("sums an operand into ", toText(second), ", expected ",
                     toText(ofSource), " or ", toText(ofWeights));
  } else if (second != result) {
    return invalid("keeps what its activation is of in ", toText(second),
                   ", expected ", toText(result));
  }
  return Status();
}

/// Verifies what stands behind a matmul by its inputs and outputs.
Status verifyActivation(const LibraryCommand &command, Activation activation) {
  Dims result = output(command, 0);
  bool hasThird = countOf(command.inputs()) > 2,
       hasSecond = countOf(command.outputs()) > 1;
  if (activation == Activation::gelu_tanh_gradient &&
      (hasSecond || !hasThird || input(command, 2) != result))
    return invalid("multiplies by the slopes of gelu_tanh, expected a third "
                   "input of ",
                   toText(result), " and one output");
  if (!hasSecond)
    return Status();
  if (activation != Activation::gelu_tanh &&
      (activation != Activation::none || hasThird))
    return invalid("has a second output, which a product has that sums an "
                   "operand and has no bias, or that has gelu_tanh behind it");
  return verifySecondResult(activation, output(command, 1), result);
}

using List = flatbuffers::Vector<int64_t>;

/// Verifies a list of the convolution's windows: empty, or one number for each
/// spatial axis.
Status verifyWindow(const List *list, size_t axes, int64_t least,
                    const char *what) {
  if (!areAligned(list))
    return invalid("has ", what, " that are not aligned");
  if (countOf(list) != 0 && countOf(list) != axes)
    return invalid("has ", countOf(list), " ", what, " for ", axes,
                   " spatial axes");
  for (int64_t number : valuesOf(list))
    if (number < least || number > kMostWindow)
      return invalid("has ", number, " among its ", what);
  return Status();
}

int64_t entry(const List *list, size_t i, int64_t otherwise) {
  return countOf(list) ? list->Get(i) : otherwise;
}

bool spatialFits(const Windows &windows, size_t i, int64_t in, int64_t window,
                 int64_t out) {
  int64_t reach = (window - 1) * entry(windows.dilations(), i, 1) + 1;
  int64_t padded =
      in + entry(windows.pads_begin(), i, 0) + entry(windows.pads_end(), i, 0);
  return padded >= reach &&
         (padded - reach) / entry(windows.strides(), i, 1) + 1 == out;
}

Status verifyConvolution(const Windows &windows, const Dims &source,
                         Dims weights, const Dims *bias, const Dims &result) {
  Status misfit = invalid("convolves ", toText(source), " with ",
                          toText(weights), " into ", toText(result));
  size_t rank = source.size();
  if (rank < 3 || rank > 5 || result.size() != rank ||
      (weights.size() != rank && weights.size() != rank + 1))
    return misfit;
  int64_t groups = weights.size() > rank ? weights[0] : 1;
  if (weights.size() > rank)
    weights.erase(weights.begin());
  int64_t inputs = 0, outputs = 0;
  if (__builtin_mul_overflow(groups, weights[1], &inputs) ||
      __builtin_mul_overflow(groups, weights[0], &outputs) ||
      source[0] != result[0] || source[1] != inputs || result[1] != outputs ||
      (bias && *bias != Dims{result[1]}))
    return misfit;
  GRADUS_TRY(verifyWindow(windows.strides(), rank - 2, 1, "strides"));
  GRADUS_TRY(verifyWindow(windows.dilations(), rank - 2, 1, "dilations"));
  GRADUS_TRY(verifyWindow(windows.pads_begin(), rank - 2, 0, "pads"));
  GRADUS_TRY(verifyWindow(windows.pads_end(), rank - 2, 0, "pads"));
  for (size_t i = 0; i + 2 < rank; ++i)
    if (weights[i + 2] > kMostWindow ||
        !spatialFits(windows, i, source[i + 2], weights[i + 2], result[i + 2]))
      return misfit;
  return Status();
}

/// Verifies the sizes that attention's queries, keys and values share.
Status verifyAttention(const Dims &query, const Dims &key, const Dims &value,
                       const Dims &result, const Dims &logsumexp) {
  bool fits = query.size() == 4 && key.size() == 4 && value.size() == 4;
  if (fits) {
    int64_t n = query[0], h = query[1], t = query[2], s = key[2];
    fits = key == Dims{n, h, s, query[3]} && value == Dims{n, h, s, value[3]} &&
           result == Dims{n, h, t, value[3]} && logsumexp == Dims{n, h, t, 1};
  }
  if (!fits)
    return invalid("attends with ", toText(query), " to ", toText(key), " and ",
                   toText(value), " into ", toText(result), " and ",
                   toText(logsumexp));
  return Status();
}

/// Verifies that each size of a mask is 1 or that of the scores.
Status verifyMask(const Dims &mask, const Dims &query, const Dims &key) {
  Dims scores = {query[0], query[1], query[2], key[2]};
  bool fits = mask.size() == scores.size();
  for (size_t i = 0; fits && i < scores.size(); ++i)
    fits = mask[i] == 1 || mask[i] == scores[i];
  return fits ? Status()
              : invalid("has a mask of ", toText(mask), " for scores of ",
                        toText(scores));
}

/// Verifies what attention and its gradient have both; `result` and `logsumexp`
/// are among the outputs or the inputs.
Status verifyScores(const LibraryCommand &command,
                    const artifact::Scores &scores, const LibraryTensor &result,
                    const LibraryTensor &logsumexp) {
  GRADUS_TRY(verifyAttention(input(command, 0), input(command, 1),
                             input(command, 2), valuesOf(result.dims()),
                             valuesOf(logsumexp.dims())));
  if (logsumexp.dtype() != artifact::DType::f32)
    return invalid("has a logsumexp of ", nameOf(logsumexp.dtype()),
                   ", expected f32");
  if (!(std::abs(scores.scale()) <= 1e30))
    return invalid("scales its scores by ", scores.scale(),
                   ", expected a number up to 1e30");
  if (!hasMask(command))
    return Status();
  return verifyMask(input(command, inputsBeforeMask(command.op_type())),
                    input(command, 0), input(command, 1));
}

//===-- ops ---------------------------------------------------------------===//

/// The operands that an op has, and the devices whose libraries have it.
struct Form {
  size_t leastInputs, mostInputs, leastOutputs, mostOutputs;
  bool isOnCpus = true, isOnCards = true;
};

constexpr Form formOf(const artifact::MatmulCall &) { return {2, 3, 1, 2}; }

Status verifyOp(const artifact::Plan &plan, const LibraryCommand &command,
                const artifact::MatmulCall &call) {
  Activation activation = call.activation();
  GRADUS_TRY(verifyKnown(activation));
  bool hasSecond = countOf(command.outputs()) > 1,
       isGradient = activation == Activation::gelu_tanh_gradient;
  if ((isGradient || hasSecond) && !isForCards(plan))
    return invalid("asks for slopes or a second result of matmul, which no "
                   "library of processors has");
  Dims third = countOf(command.inputs()) > 2 ? input(command, 2) : Dims();
  GRADUS_TRY(verifyMatmul(input(command, 0), input(command, 1),
                          third.empty() ? nullptr : &third,
                          output(command, 0)));
  return verifyActivation(command, activation);
}

constexpr Form formOf(const artifact::ConvolutionCall &) {
  return {2, 3, 1, 1};
}

Status verifyOp(const artifact::Plan &, const LibraryCommand &command,
                const artifact::ConvolutionCall &call) {
  GRADUS_TRY(verifyKnown(call.activation()));
  if (call.activation() == Activation::gelu_tanh_gradient)
    return invalid("asks for gelu_tanh_gradient of convolution, which only "
                   "matmul has");
  Dims bias = countOf(command.inputs()) > 2 ? input(command, 2) : Dims();
  return verifyConvolution(*call.windows(), input(command, 0),
                           input(command, 1), bias.empty() ? nullptr : &bias,
                           output(command, 0));
}

constexpr Form formOf(const artifact::ConvolutionBackwardDataCall &) {
  return {2, 2, 1, 1};
}

Status verifyOp(const artifact::Plan &, const LibraryCommand &command,
                const artifact::ConvolutionBackwardDataCall &call) {
  return verifyConvolution(*call.windows(), output(command, 0),
                           input(command, 1), nullptr, input(command, 0));
}

constexpr Form formOf(const artifact::ConvolutionBackwardWeightsCall &) {
  return {2, 2, 1, 2};
}

Status verifyOp(const artifact::Plan &, const LibraryCommand &command,
                const artifact::ConvolutionBackwardWeightsCall &call) {
  Dims bias = countOf(command.outputs()) > 1 ? output(command, 1) : Dims();
  return verifyConvolution(*call.windows(), input(command, 0),
                           output(command, 0), bias.empty() ? nullptr : &bias,
                           input(command, 1));
}

constexpr Form formOf(const artifact::ReorderCall &) {
  return {1, 1, 1, 1, /*isOnCpus=*/true, /*isOnCards=*/false};
}

Status verifyOp(const artifact::Plan &, const LibraryCommand &command,
                const artifact::ReorderCall &) {
  Dims from = input(command, 0), to = output(command, 0);
  return from == to ? Status()
                    : invalid("reorders ", toText(from), " into ", toText(to));
}

constexpr Form formOf(const artifact::AttentionCall &) {
  return {3, 4, 2, 2, /*isOnCpus=*/false};
}

Status verifyOp(const artifact::Plan &, const LibraryCommand &command,
                const artifact::AttentionCall &call) {
  return verifyScores(command, *call.scores(), *command.outputs()->Get(0),
                      *command.outputs()->Get(1));
}

constexpr Form formOf(const artifact::AttentionBackwardCall &) {
  return {6, 7, 3, 3, /*isOnCpus=*/false};
}

/// Gradients have the sizes of their values.
Status verifyOp(const artifact::Plan &, const LibraryCommand &command,
                const artifact::AttentionBackwardCall &call) {
  const LibraryTensor &result = *command.inputs()->Get(3);
  GRADUS_TRY(
      verifyScores(command, *call.scores(), result, *command.inputs()->Get(5)));
  if (input(command, 4) != valuesOf(result.dims()))
    return invalid("has a gradient of ", toText(input(command, 4)), " for ",
                   toText(valuesOf(result.dims())));
  for (size_t i = 0; i < 3; ++i)
    if (output(command, i) != input(command, i))
      return invalid("writes a gradient of ", toText(output(command, i)),
                     " for ", toText(input(command, i)));
  return Status();
}

//===-- the command -------------------------------------------------------===//

/// oneDNN runs the calls of plans with code, the GPU's libraries those of
/// others.
Status verifyForm(const artifact::Plan &plan, const LibraryCommand &command,
                  const Form &form) {
  if (isForCards(plan) ? !form.isOnCards : !form.isOnCpus)
    return invalid("asks for ", artifact::EnumNameLibraryOp(command.op_type()),
                   ", which no library of ",
                   isForCards(plan) ? "cards" : "processors", " has");
  size_t inputs = countOf(command.inputs()),
         outputs = countOf(command.outputs());
  if (inputs < form.leastInputs || inputs > form.mostInputs ||
      outputs < form.leastOutputs || outputs > form.mostOutputs)
    return invalid("has ", inputs, " inputs and ", outputs, " outputs");
  return Status();
}

} // namespace

Status verifyLibrary(const artifact::Plan &plan,
                     const LibraryCommand &command) {
  std::optional<Form> form = visitLibraryOp(
      command, [] { return std::optional<Form>(); },
      [](const auto &call) { return std::optional(formOf(call)); });
  if (!form)
    return invalid("asks for operation ", int(command.op_type()),
                   ", which this runtime does not know");
  GRADUS_TRY(verifyForm(plan, command, *form));
  GRADUS_TRY(verifyTensors(plan, command.inputs(), false));
  GRADUS_TRY(verifyTensors(plan, command.outputs(), true));
  if (command.scratch() != UINT32_MAX)
    GRADUS_TRY(at(verifyBuffer(plan, command.scratch(), true), "scratch"));
  return visitLibraryOp(
      command, [] { return Status(); },
      [&](const auto &call) { return verifyOp(plan, command, call); });
}

} // namespace gradus::runtime
