// Windows are the same in a convolution and in its gradients, whose tensors
// stand in another order.

#include "tool/inspect/convolution_windows.h"

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
/// the source.
double shareAlong(const Tensors &tensors, unsigned dim) {
  const Dims &weights = *tensors.weights;
  unsigned count = tensors.source->size() - 2;
  int64_t size = tensors.source->Get(2 + dim),
          results = tensors.result->Get(2 + dim),
          window = weights.Get(weights.size() - count + dim),
          stride = numberOf(tensors.windows->strides(), dim, 1),
          dilation = numberOf(tensors.windows->dilations(), dim, 1),
          pad = numberOf(tensors.windows->pads_begin(), dim, 0), inside = 0;
  for (int64_t tap = 0; tap < window; ++tap)
    for (int64_t result = 0; result < results; ++result) {
      int64_t at = result * stride + tap * dilation - pad;
      inside += at >= 0 && at < size;
    }
  return inside ? double(inside) / double(results * window) : 1;
}

} // namespace

std::optional<double> shareInside(const LibraryCommand &call) {
  Tensors tensors = tensorsOf(call);
  if (!tensors.areWhole())
    return std::nullopt;
  double share = 1;
  for (unsigned dim = 0; dim + 2 < tensors.source->size(); ++dim)
    share *= shareAlong(tensors, dim);
  return share;
}

} // namespace gradus::cli
