// A decoder scales an image from its upper left corner: at n eighths, pixel i
// covers 8 i / n to 8 (i + 1) / n of the whole image.

#include "training/data/jpeg_part.h"

namespace gradus::data {
namespace {

constexpr int kWhole = 8; // eighths

/// One axis of a box: the first scaled pixel that it touches, the number of
/// them, and the range in them.
struct Touched {
  int64_t first, count;
  Range range;
};

Touched touched(int64_t begin, int64_t size, int eighths) {
  int64_t first = begin * eighths / kWhole,
          end = ((begin + size) * eighths + kWhole - 1) / kWhole;
  double scale = double(eighths) / kWhole;
  return {first, end - first, {begin * scale - first, size * scale}};
}

} // namespace

int jpegEighths(const Box &crop, int64_t height, int64_t width) {
  for (int eighths : {1, 2, 4})
    if (crop.height * eighths >= height * kWhole &&
        crop.width * eighths >= width * kWhole)
      return eighths;
  return kWhole;
}

JpegPart jpegPart(const Box &crop, int eighths) {
  Touched rows = touched(crop.top, crop.height, eighths),
          columns = touched(crop.left, crop.width, eighths);
  return {eighths,
          {rows.first, columns.first, rows.count, columns.count},
          rows.range,
          columns.range};
}

} // namespace gradus::data
