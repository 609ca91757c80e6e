// Windows are the same in a convolution and in its gradients, whose tensors
// stand in another order.

#include "tool/inspect/convolution_windows.h"

#include "runtime/rates.h"

#include <algorithm>
#include <cmath>

using namespace gradus::artifact;

namespace gradus::cli {
namespace {

using Dims = flatbuffers::Vector<int64_t>;

/// The sizes of the tensors of a convolution; null where one is missing.
struct Tensors {
  const Dims *source = nullptr, *weights = nullptr, *result = nullptr;
  const Windows *windows = nullptr;

  bool areWhole() const {
    return source && weights && result && windows && source->size() > 2 &&
           result->size() == source->size() &&
           weights->size() >= source->size();
  }
};

using List = flatbuffers::Vector<flatbuffers::Offset<LibraryTensor>>;

const Dims *dimsOf(const List *list, unsigned number) {
  return list && number < list->size() ? list->Get(number)->dims() : nullptr;
}

Tensors tensorsOf(const LibraryCommand &call) {
  auto input = [&](unsigned number) { return dimsOf(call.inputs(), number); };
  const Dims *output = dimsOf(call.outputs(), 0);
  if (const auto *own = call.op_as_convolution())
    return {input(0), input(1), output, own->windows()};
  if (const auto *own = call.op_as_convolution_backward_data())
    return {output, input(1), input(0), own->windows()};
  return {};
}

int64_t numberOf(const Dims *list, unsigned dim, int64_t otherwise) {
  return list && dim < list->size() ? list->Get(dim) : otherwise;
}

/// The part of the positions of windows along a spatial dimension that are in
/// the source. Numbers of a file may be as large as they like: it counts in
/// floating point, and the outer elements of no more than so many.
double shareAlong(const Tensors &tensors, unsigned dim) {
  constexpr int64_t kMostTaps = 4096;
  const Dims &weights = *tensors.weights;
  unsigned count = tensors.source->size() - 2;
  double size = double(tensors.source->Get(2 + dim)),
         results = double(tensors.result->Get(2 + dim)),
         stride = double(numberOf(tensors.windows->strides(), dim, 1)),
         dilation = double(numberOf(tensors.windows->dilations(), dim, 1)),
         pad = double(numberOf(tensors.windows->pads_begin(), dim, 0)),
         inside = 0;
  int64_t window = weights.Get(weights.size() - count + dim);
  if (window > kMostTaps || stride < 1)
    return 1;
  for (int64_t tap = 0; tap < window; ++tap) {
    double before = pad - double(tap) * dilation,
           first = std::max(0.0, std::ceil(before / stride)),
           last =
               std::min(results, std::floor((size - 1 + before) / stride) + 1);
    inside += std::max(0.0, last - first);
  }
  return inside > 0 ? inside / (results * double(window)) : 1;
}

} // namespace

std::optional<double> shareInside(const LibraryCommand &call) {
  Tensors tensors = tensorsOf(call);
  if (!tensors.areWhole())
    return std::nullopt;
  if (tensors.result->Get(tensors.result->size() - 1) <= kColumnsWithPadding)
    return 1;
  double share = 1;
  for (unsigned dim = 0; dim + 2 < tensors.source->size(); ++dim)
    share *= shareAlong(tensors, dim);
  return share;
}

bool hasFewChannels(const LibraryCommand &call) {
  const Dims *weights = tensorsOf(call).weights,
             *source = dimsOf(call.inputs(), 0);
  if (call.op_type() == LibraryOp::convolution_backward_weights)
    weights = dimsOf(call.outputs(), 0);
  return weights && source && weights->size() == source->size() &&
         weights->size() > 2 &&
         std::min(weights->Get(0), weights->Get(1)) < kFewChannels;
}

} // namespace gradus::cli
