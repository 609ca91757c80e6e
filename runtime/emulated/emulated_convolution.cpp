// Convolutions in the emulated GPU's library as matmuls: for each tap of the
// window and each row of the result, pixels times channels.
//
// Sources and results are packed as [batch, pixels, channels], weights as
// [group, tap, inputs, outputs].

#include "runtime/emulated/emulated_ops.h"
#include "runtime/emulated/emulated_product.h"

#include "runtime/flat.h"

#include <algorithm>
#include <array>

namespace gradus::runtime::cuda {

namespace {

using artifact::LibraryCommand;
using Axes = std::array<int64_t, 3>; // axes that are not there come first

int64_t product(const Axes &sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Divides and rounds up, for any a.
int64_t dividedUp(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : a / b;
}

/// The pixels of a row of the result to which a tap of the window contributes.
struct Run {
  int64_t tap, source, result, count;
};

struct Convolution {
  bool hasGroups = false; // as an axis of the weights
  int64_t batch = 1, groups = 1;
  int64_t inputs = 1, outputs = 1; // channels of a group
  Axes source, window, result;
  Axes strides = {1, 1, 1}, dilations = {1, 1, 1}, pads = {0, 0, 0};

  Convolution(const LibraryCommand &command, const StridedTensor &from,
              const StridedTensor &weights, const StridedTensor &to);

  int64_t sourceChannels() const { return groups * inputs; }
  int64_t resultChannels() const { return groups * outputs; }
  size_t sourceSize() const {
    return size_t(batch * product(source) * sourceChannels());
  }
  size_t resultSize() const {
    return size_t(batch * product(result) * resultChannels());
  }
  size_t weightsSize() const {
    return size_t(groups * product(window) * inputs * outputs);
  }
  size_t weightsOf(int64_t group, int64_t tap) const {
    return size_t((group * product(window) + tap) * inputs * outputs);
  }
  /// The distance between source pixels for neighbours in a row of the result.
  int64_t step() const { return strides[2] * sourceChannels(); }

  template <typename Visit> void forEachRun(Visit visit) const;

private:
  template <typename Visit>
  void forEachRow(const Axes &tap, int64_t number, Visit visit) const;
  /// The source coordinate of a tap for the first pixel of the result.
  int64_t startOf(size_t axis, int64_t tap) const {
    return tap * dilations[axis] - pads[axis];
  }
};

template <typename List> void readAxes(const List *list, Axes &axes) {
  for (size_t i = 0; i < countOf(list); ++i)
    axes[3 - countOf(list) + i] = list->Get(i);
}

Axes lastOf(const StridedTensor &tensor, size_t axes) {
  Axes sizes = {1, 1, 1};
  std::copy(tensor.dims.end() - ptrdiff_t(axes), tensor.dims.end(),
            sizes.end() - ptrdiff_t(axes));
  return sizes;
}

Convolution::Convolution(const LibraryCommand &command,
                         const StridedTensor &from,
                         const StridedTensor &weights,
                         const StridedTensor &to) {
  size_t axes = from.rank() - 2;
  source = lastOf(from, axes);
  window = lastOf(weights, axes);
  result = lastOf(to, axes);
  batch = from.dims[0];
  hasGroups = weights.rank() > from.rank();
  groups = hasGroups ? weights.dims[0] : 1;
  inputs = from.dims[1] / groups;
  outputs = to.dims[1] / groups;
  const artifact::Windows &windows = *windowsOf(command);
  readAxes(windows.strides(), strides);
  readAxes(windows.dilations(), dilations);
  readAxes(windows.pads_begin(), pads);
}

//===-- runs of pixels ---------------------------------------------------===//

/// Visits one tap after another, so that its weights stay in the cache.
template <typename Visit> void Convolution::forEachRun(Visit visit) const {
  int64_t number = 0;
  for (int64_t z = 0; z < window[0]; ++z)
    for (int64_t y = 0; y < window[1]; ++y)
      for (int64_t x = 0; x < window[2]; ++x)
        forEachRow({z, y, x}, number++, visit);
}

template <typename Visit>
void Convolution::forEachRow(const Axes &tap, int64_t number,
                             Visit visit) const {
  int64_t start = startOf(2, tap[2]);
  int64_t first = std::max<int64_t>(dividedUp(-start, strides[2]), 0),
          end = std::min(dividedUp(source[2] - start, strides[2]), result[2]);
  for (int64_t n = 0; n < batch && first < end; ++n)
    for (int64_t z = 0; z < result[0]; ++z)
      for (int64_t y = 0; y < result[1]; ++y) {
        int64_t fromZ = startOf(0, tap[0]) + z * strides[0],
                fromY = startOf(1, tap[1]) + y * strides[1];
        if (fromZ < 0 || fromZ >= source[0] || fromY < 0 || fromY >= source[1])
          continue;
        int64_t row = (n * source[0] + fromZ) * source[1] + fromY;
        visit(Run{number, row * source[2] + start + first * strides[2],
                  ((n * result[0] + z) * result[1] + y) * result[2] + first,
                  end - first});
      }
}

//===-- packed tensors ---------------------------------------------------===//

/// Moves the channels, the second axis, to the end.
StridedTensor channelsLast(const StridedTensor &tensor) {
  std::vector<size_t> axes = {0};
  for (size_t i = 2; i < tensor.rank(); ++i)
    axes.push_back(i);
  axes.push_back(1);
  return permuted(tensor, axes);
}

/// Packs weights as [group, tap, inputs, outputs], or with the last two
/// exchanged.
StridedTensor packed(const Convolution &facts, StridedTensor weights,
                     bool outputsFirst = false) {
  if (!facts.hasGroups) {
    weights.dims.insert(weights.dims.begin(), 1);
    weights.strides.insert(weights.strides.begin(), 0);
  }
  std::vector<size_t> axes = {0};
  for (size_t i = 3; i < weights.rank(); ++i)
    axes.push_back(i);
  axes.push_back(outputsFirst ? 1 : 2);
  axes.push_back(outputsFirst ? 2 : 1);
  return permuted(weights, axes);
}

} // namespace

//===-- the three matmuls ------------------------------------------------===//

EmulatedOp convolutionOp(const LibraryCommand &command, const Tensors &inputs,
                         const Tensors &outputs) {
  Convolution facts(command, inputs[0], inputs[1], outputs[0]);
  return [=, from = channelsLast(inputs[0]), weights = packed(facts, inputs[1]),
          to = channelsLast(outputs[0]),
          activation = activationOf(command)](const CallAddresses &at) {
    Numbers x = numbersAt(from, at.inputs[0]),
            w = numbersAt(weights, at.inputs[1]), y(facts.resultSize(), 0);
    int64_t channels = facts.resultChannels();
    if (inputs.size() > 2) {
      Numbers bias = numbersAt(inputs[2], at.inputs[2]);
      for (size_t i = 0; i < y.size(); i += bias.size())
        std::copy(bias.begin(), bias.end(), y.begin() + ptrdiff_t(i));
    }
    for (int64_t g = 0; g < facts.groups; ++g)
      facts.forEachRun([&](const Run &run) {
        int64_t first = run.source * facts.sourceChannels() + g * facts.inputs;
        addProduct(
            run.count, facts.inputs, facts.outputs,
            {&x[size_t(first)], facts.step()},
            {&w[facts.weightsOf(g, run.tap)], facts.outputs},
            {&y[size_t(run.result * channels + g * facts.outputs)], channels});
      });
    activate(activation, y);
    writeNumbers(to, y.data(), at.outputs[0]);
  };
}

EmulatedOp convolutionBackwardDataOp(const LibraryCommand &command,
                                     const Tensors &inputs,
                                     const Tensors &outputs) {
  Convolution facts(command, outputs[0], inputs[1], inputs[0]);
  return [=, from = channelsLast(inputs[0]),
          weights = packed(facts, inputs[1], /*outputsFirst=*/true),
          to = channelsLast(outputs[0])](const CallAddresses &at) {
    Numbers dy = numbersAt(from, at.inputs[0]),
            w = numbersAt(weights, at.inputs[1]), dx(facts.sourceSize(), 0);
    int64_t channels = facts.resultChannels();
    for (int64_t g = 0; g < facts.groups; ++g)
      facts.forEachRun([&](const Run &run) {
        int64_t first = run.source * facts.sourceChannels() + g * facts.inputs;
        addProduct(
            run.count, facts.outputs, facts.inputs,
            {&dy[size_t(run.result * channels + g * facts.outputs)], channels},
            {&w[facts.weightsOf(g, run.tap)], facts.inputs},
            {&dx[size_t(first)], facts.step()});
      });
    writeNumbers(to, dx.data(), at.outputs[0]);
  };
}

/// Sums each channel over all pixels.
static Numbers sumsOf(const Numbers &pixels, int64_t channels) {
  std::vector<double> sums(size_t(channels), 0);
  for (size_t i = 0; i < pixels.size(); i += sums.size())
    for (size_t c = 0; c < sums.size(); ++c)
      sums[c] += pixels[i + c];
  return Numbers(sums.begin(), sums.end());
}

EmulatedOp convolutionBackwardWeightsOp(const LibraryCommand &command,
                                        const Tensors &inputs,
                                        const Tensors &outputs) {
  Convolution facts(command, inputs[0], outputs[0], inputs[1]);
  return [=, from = channelsLast(inputs[0]), gradient = channelsLast(inputs[1]),
          to = packed(facts, outputs[0])](const CallAddresses &at) {
    Numbers x = numbersAt(from, at.inputs[0]),
            dy = numbersAt(gradient, at.inputs[1]), dw(facts.weightsSize(), 0);
    int64_t channels = facts.resultChannels();
    for (int64_t g = 0; g < facts.groups; ++g)
      facts.forEachRun([&](const Run &run) {
        int64_t first = run.source * facts.sourceChannels() + g * facts.inputs;
        addProduct(
            facts.inputs, run.count, facts.outputs,
            {&x[size_t(first)], 1, facts.step()},
            {&dy[size_t(run.result * channels + g * facts.outputs)], channels},
            {&dw[facts.weightsOf(g, run.tap)], facts.outputs});
      });
    writeNumbers(to, dw.data(), at.outputs[0]);
    if (outputs.size() > 1)
      writeNumbers(outputs[1], sumsOf(dy, channels).data(), at.outputs[1]);
  };
}

} // namespace gradus::runtime::cuda
