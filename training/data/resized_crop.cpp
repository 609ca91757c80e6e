// Ratios are uniform in the logarithm; sizes that lie halfway are rounded to
// even: as torchvision and Python do.

#include "training/data/resized_crop.h"

#include "training/data/shuffle.h"

#include <algorithm>
#include <cmath>

namespace gradus::data {
namespace {

double between(const std::array<double, 2> &bounds, double part) {
  return bounds[0] + part * (bounds[1] - bounds[0]);
}

/// A uniform integer from 0 to `most`.
int64_t upTo(int64_t most, double part) {
  return std::min<int64_t>(most, part * (most + 1));
}

int64_t rounded(double size) { return std::llrint(size); }

Box inMiddle(int64_t height, int64_t width, int64_t boxHeight,
             int64_t boxWidth) {
  return {(height - boxHeight) / 2, (width - boxWidth) / 2, boxHeight,
          boxWidth};
}

/// The largest box in the middle with an allowed ratio; at least a pixel high
/// and wide.
Box middleOf(const ResizedCrop &crop, int64_t height, int64_t width) {
  double ratio = double(width) / height;
  if (ratio < crop.ratio[0])
    return inMiddle(height, width,
                    std::max<int64_t>(1, rounded(width / crop.ratio[0])),
                    width);
  if (ratio > crop.ratio[1])
    return inMiddle(height, width, height,
                    std::max<int64_t>(1, rounded(height * crop.ratio[1])));
  return {0, 0, height, width};
}

} // namespace

Box cropBox(const ResizedCrop &crop, int64_t height, int64_t width,
            const std::function<double()> &uniform) {
  constexpr int kTries = 10;
  const std::array<double, 2> logarithms = {std::log(crop.ratio[0]),
                                            std::log(crop.ratio[1])};
  for (int i = 0; i < kTries; ++i) {
    double area = double(height) * width * between(crop.scale, uniform());
    double ratio = std::exp(between(logarithms, uniform()));
    int64_t boxWidth = rounded(std::sqrt(area * ratio)),
            boxHeight = rounded(std::sqrt(area / ratio));
    if (boxWidth < 1 || boxWidth > width || boxHeight < 1 || boxHeight > height)
      continue;
    int64_t top = upTo(height - boxHeight, uniform());
    return {top, upTo(width - boxWidth, uniform()), boxHeight, boxWidth};
  }
  return middleOf(crop, height, width);
}

Box cropBox(const ResizedCrop &crop, int64_t height, int64_t width,
            uint64_t draw) {
  constexpr int64_t kOwn =
      1; // separates its numbers from those of crop and flip
  int64_t which = 0;
  return cropBox(crop, height, width,
                 [&] { return (drawOf(draw, kOwn, which++) >> 11) * 0x1p-53; });
}

} // namespace gradus::data
