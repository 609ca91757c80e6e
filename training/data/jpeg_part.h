// The part of a JPEG file that a crop of its image needs, and the scale at
// which it is decoded.

#pragma once

#include "training/data/resize.h"
#include "training/data/resized_crop.h"

#include <cstdint>

namespace gradus::data {

struct JpegPart {
  int eighths = 8;     // the scale: 1, 2, 4 or 8
  Box box;             // the pixels of the scaled image that the crop touches
  Range rows, columns; // the crop, from the first row and column of the box on
};

/// The smallest scale of 1/8, 1/4, 1/2 and 1 at which a crop has at least
/// `height` x `width` pixels; 1 if none has. Decoders are fast at these alone.
int jpegEighths(const Box &crop, int64_t height, int64_t width);

/// The part for a crop in pixels of the whole image, decoded at a scale.
JpegPart jpegPart(const Box &crop, int eighths);

} // namespace gradus::data
