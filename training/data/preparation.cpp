// Prepares a sample in one pass: reads shifted rows, then scales values.

#include "training/data/preparation.h"

#include "training/data/resize.h"
#include "training/data/shuffle.h"

#include <algorithm>
#include <cmath>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

/// The sizes of a sample as an image.
struct Extent {
  int64_t channels = 1, height = 1, width = 1;
};

Extent extentOf(const TensorInfo &input) {
  const std::vector<int64_t> &shape = input.type.shape;
  Extent extent;
  if (shape.size() >= 3) {
    extent.height = shape[shape.size() - 2];
    extent.width = shape.back();
  }
  size_t outer = shape.size() >= 3 ? shape.size() - 2 : shape.size();
  for (size_t axis = 1; axis < outer; ++axis)
    extent.channels *= shape[axis];
  return extent;
}

/// The random shift and flip of a sample.
struct Placement {
  int64_t down = 0, right = 0;
  bool flip = false;
};

Placement place(const Preparation &preparation, uint64_t draw) {
  uint64_t sides = 2 * preparation.crop + 1;
  auto number = [&](uint64_t which) { return drawOf(draw, 0, which); };
  Placement placement;
  placement.down = int64_t(number(0) % sides) - preparation.crop;
  placement.right = int64_t(number(1) % sides) - preparation.crop;
  placement.flip = preparation.flip && number(2) % 2;
  return placement;
}

/// Scales a part of each channel to the sample's size.
void crop(const Extent &extent, const Box &box, const float *from, float *to) {
  thread_local ResizeMemory memory;
  auto setAxis = [](int64_t size, int64_t wanted, Taps &taps) {
    setTaps({0, double(size)}, size, wanted, wanted, taps);
  };
  setAxis(box.height, extent.height, memory.rows);
  setAxis(box.width, extent.width, memory.columns);
  const int64_t plane = extent.height * extent.width;
  from += box.top * extent.width + box.left;
  for (int64_t channel = 0; channel < extent.channels; ++channel)
    resize(Pixels<float>{from + channel * plane, box.width, 1, extent.width}, 1,
           memory, to + channel * plane);
}

bool isOrdered(const std::array<double, 2> &bounds, double most) {
  return bounds[0] > 0 && bounds[0] <= bounds[1] && bounds[1] <= most;
}

bool isFinite(float value) { return std::isfinite(value); }
bool isDivisor(float value) { return std::isfinite(value) && value != 0; }

/// Copies a row shifted by `placement.right`, with zeros outside.
void takeRow(const float *from, float *to, int64_t width,
             const Placement &placement) {
  int64_t right = placement.flip ? -placement.right : placement.right;
  int64_t begin = std::clamp<int64_t>(-right, 0, width),
          end = std::clamp<int64_t>(width - right, begin, width);
  std::fill(to, to + begin, 0.0f);
  if (placement.flip)
    for (int64_t x = begin; x < end; ++x)
      to[x] = from[width - 1 - x - right];
  else
    std::copy(from + begin + right, from + end + right, to + begin);
  std::fill(to + end, to + width, 0.0f);
}

void augment(const Extent &extent, const Placement &placement,
             const float *from, float *to) {
  for (int64_t row = 0; row < extent.channels * extent.height; ++row) {
    int64_t source = row % extent.height + placement.down;
    float *target = to + row * extent.width;
    if (source >= 0 && source < extent.height)
      takeRow(from + (row + placement.down) * extent.width, target,
              extent.width, placement);
    else
      std::fill_n(target, extent.width, 0.0f);
  }
}

/// Makes each value (value - mean) / std.
void normalize(const Preparation &preparation, int64_t elements, float *to) {
  const std::vector<float> zero = {0}, one = {1};
  if (preparation.mean == zero && preparation.std == one)
    return;
  int64_t parts = std::max(preparation.mean.size(), preparation.std.size());
  int64_t each = elements / parts;
  for (int64_t part = 0; part < parts; ++part) {
    float mean = preparation.mean[preparation.mean.size() > 1 ? part : 0];
    float deviation = preparation.std[preparation.std.size() > 1 ? part : 0];
    for (int64_t i = part * each; i < (part + 1) * each; ++i)
      to[i] = (to[i] - mean) / deviation;
  }
}

} // namespace

runtime::Status check(const Preparation &preparation, const TensorInfo &input) {
  const std::vector<int64_t> &shape = input.type.shape;
  if (input.type.dtype != DType::f32)
    return invalid("input '", input.name, "' is ", toString(input.type),
                   "; only f32 can be normalized or augmented");
  if (preparation.isAugmenting() && shape.size() < 3)
    return invalid("input '", input.name, "' is ", toString(input.type),
                   ", which is no image; inputs.augment crops and flips those");
  int64_t most =
      shape.size() < 3 ? 0 : std::max(shape.back(), *(shape.end() - 2));
  if (preparation.crop < 0 || preparation.crop > most)
    return invalid("inputs.augment.", input.name, ": crop is ",
                   preparation.crop, ", but the input is ",
                   toString(input.type), "; expected 0 to ", most);
  if (const auto &part = preparation.resizedCrop;
      part && (!isOrdered(part->scale, 1) || !isOrdered(part->ratio, 1e6)))
    return invalid("inputs.augment.", input.name, ": resized_crop has scale ",
                   part->scale[0], " to ", part->scale[1], " and ratio ",
                   part->ratio[0], " to ", part->ratio[1],
                   "; expected numbers above 0 in order, scale at most 1 and "
                   "ratio at most 1e6");
  if (!std::ranges::all_of(preparation.mean, isFinite) ||
      !std::ranges::all_of(preparation.std, isDivisor))
    return invalid("inputs.normalize.", input.name,
                   ": has a number beyond the range of f32");
  for (size_t size : {preparation.mean.size(), preparation.std.size()})
    if (size != 1 && (shape.size() < 2 || int64_t(size) != shape[1]))
      return invalid("inputs.normalize.", input.name, ": has ", size,
                     " numbers, but the input is ", toString(input.type),
                     "; expected 1",
                     shape.size() < 2 ? "" : inWords(" or ", shape[1]));
  return runtime::Status();
}

void prepare(const Preparation &preparation, const TensorInfo &input,
             uint64_t draw, const float *from, float *to) {
  Extent extent = extentOf(input);
  int64_t elements = extent.channels * extent.height * extent.width;
  if (preparation.resizedCrop) {
    thread_local std::vector<float> part;
    part.resize(elements);
    crop(extent,
         cropBox(*preparation.resizedCrop, extent.height, extent.width, draw),
         from, part.data());
    from = part.data();
  }
  if (preparation.isAugmenting())
    augment(extent, place(preparation, draw), from, to);
  else
    std::copy_n(from, elements, to);
  normalize(preparation, elements, to);
}

} // namespace gradus::data
