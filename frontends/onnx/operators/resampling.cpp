// The coordinates and kernels of ONNX Resize, as its reference defines them.

#include "frontends/onnx/operators/resampling.h"

#include "messages/message.h"

#include <algorithm>
#include <cmath>

namespace gradus::onnx {
namespace {

//===-- coordinates -------------------------------------------------------===//

/// The position on the input of output `x`.
template <typename Float>
Float origin(const Resampling &how, const Resized &axis, Float x) {
  Float in = axis.in, scale = axis.scale, width = scale * in;
  if (how.coordinates == "half_pixel")
    return (x + Float(0.5)) / scale - Float(0.5);
  if (how.coordinates == "asymmetric")
    return x / scale;
  if (how.coordinates == "align_corners")
    return width == 1 ? 0 : x * (in - 1) / (width - 1);
  if (how.coordinates == "pytorch_half_pixel")
    return width == 1 ? Float(-0.5) : (x + Float(0.5)) / scale - Float(0.5);
  if (how.coordinates == "half_pixel_symmetric")
    return in / 2 * (1 - Float(axis.out) / width) + (x + Float(0.5)) / scale -
           Float(0.5);
  Float start = axis.roiStart, end = axis.roiEnd; // tf_crop_and_resize
  Float part = (end - start) * (in - 1);
  return start * (in - 1) + (width == 1 ? part / 2 : x * part / (width - 1));
}

/// The nearest input is found in f32, as in other tools: 3 / 0.6 is 5 there,
/// and a little less in f64.
double originOf(const Resampling &how, const Resized &axis, int64_t x) {
  return how.mode == "nearest" ? double(origin<float>(how, axis, x))
                               : origin<double>(how, axis, x);
}

bool isOutside(const Resampling &how, const Resized &axis, double point) {
  bool isInside = point >= 0 && point <= axis.in - 1; // false for NaN
  return how.coordinates == "tf_crop_and_resize" && !isInside;
}

//===-- kernels -----------------------------------------------------------===//

std::vector<double> nearestKernel(const Resampling &how, double ratio) {
  bool up;
  if (ratio == 1 || how.nearest == "ceil")
    up = true;
  else if (how.nearest == "floor")
    up = false;
  else if (how.nearest == "round_prefer_floor")
    up = ratio > 0.5;
  else // round_prefer_ceil
    up = ratio >= 0.5;
  return {up ? 0.0 : 1.0, up ? 1.0 : 0.0};
}

double hat(double x, double) { return std::max(0.0, 1 - std::abs(x)); }

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1)
    return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

/// The kernel's values at the inputs around a point that lies `ratio` after an
/// input. Antialiasing widens the kernel if the axis shrinks.
std::vector<double> sampled(double (*kernel)(double, double), double radius,
                            double scale, double ratio, double a) {
  int64_t first = std::floor(-radius / scale) + 1;
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    weights.push_back(kernel((i - ratio) * scale, a));
    sum += weights.back();
  }
  for (double &weight : weights)
    weight /= sum;
  return weights;
}

std::vector<double> kernelAt(const Resampling &how, const Resized &axis,
                             double ratio) {
  double scale = how.antialias ? std::min(axis.scale, 1.0) : 1.0;
  if (how.mode == "nearest")
    return nearestKernel(how, ratio);
  if (how.mode == "linear")
    return sampled(hat, 1, scale, ratio, 0);
  return sampled(cubic, 2, scale, ratio, how.cubicA);
}

/// Adds the kernel to a row; values outside go to the edge, or are dropped.
void place(const std::vector<double> &kernel, int64_t first,
           bool excludeOutside, int64_t in, double *row) {
  double sum = 0;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t position = first + int64_t(i);
    bool outside = position < 0 || position >= in;
    if (outside && excludeOutside)
      continue;
    row[std::clamp<int64_t>(position, 0, in - 1)] += kernel[i];
    sum += kernel[i];
  }
  for (int64_t i = 0; excludeOutside && i < in; ++i)
    row[i] /= sum;
}

} // namespace

absl::Status checkKnown(const Resampling &how) {
  auto check = [](const char *key, const std::string &value,
                  std::initializer_list<const char *> known) {
    if (std::find(known.begin(), known.end(), value) != known.end())
      return absl::OkStatus();
    return invalid(key, " \"", value, "\" is not supported");
  };
  absl::Status status = check("mode", how.mode, {"nearest", "linear", "cubic"});
  if (status.ok())
    status = check("coordinate_transformation_mode", how.coordinates,
                   {"half_pixel", "asymmetric", "align_corners",
                    "pytorch_half_pixel", "half_pixel_symmetric",
                    "tf_crop_and_resize"});
  if (status.ok())
    status =
        check("nearest_mode", how.nearest,
              {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
  return status;
}

absl::StatusOr<std::vector<double>> weightsOf(const Resampling &how,
                                              const Resized &axis) {
  int64_t count = 0;
  if (__builtin_mul_overflow(axis.in, axis.out, &count) ||
      count > (int64_t(1) << 26))
    return invalid("would make ", axis.out, " of ", axis.in,
                   " elements, which is too large");
  std::vector<double> weights(count, 0);
  for (int64_t x = 0; x < axis.out; ++x) {
    double point = originOf(how, axis, x);
    if (isOutside(how, axis, point))
      point = 0;
    double floor = std::floor(point);
    bool whole = floor == point;
    std::vector<double> kernel = kernelAt(how, axis, whole ? 1 : point - floor);
    int64_t before = int64_t(kernel.size()) / 2;
    place(kernel, int64_t(floor) - before + (whole ? 0 : 1), how.excludeOutside,
          axis.in, &weights[x * axis.in]);
  }
  return weights;
}

std::vector<int64_t> madeUp(const Resampling &how, const Resized &axis) {
  std::vector<int64_t> places;
  for (int64_t x = 0; x < axis.out; ++x)
    if (isOutside(how, axis, originOf(how, axis, x)))
      places.push_back(x);
  return places;
}

} // namespace gradus::onnx
