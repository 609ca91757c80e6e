// Reads image files (PNG, JPEG) and scales images to the size of an input.

#pragma once

#include "runtime/status.h"
#include "training/data/jpeg_part.h"
#include "training/data/resize.h"
#include "training/data/resized_crop.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::data {

/// Rows of pixels from the top, each of 1 (grey) or 3 (RGB) bytes.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;
};

/// The sizes of an image input, in the order of its axes; 1 or 3 channels.
struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;
};

/// An image, and the part of it that is scaled to an input.
struct ImagePart {
  Image image;
  Box box;             // the pixels of `image` that count
  Range rows, columns; // of the box
};

/// A random part of an image, chosen by a sample's draw.
struct RandomPart {
  ResizedCrop crop;
  uint64_t draw = 0;
  ImageShape shape; // to which it will be scaled
};

/// The memory that reading and scaling reuse from image to image, of one
/// thread.
struct ImageMemory {
  std::vector<uint8_t> file, grey;
  ImagePart part;
  ResizeMemory resize;
};

/// Decodes a PNG or JPEG file. Transparency is dropped, 16 bits become 8; more
/// than 2^26 pixels are refused.
runtime::Status decodeImage(std::span<const uint8_t> file, Image &to);
runtime::Status readImage(const std::string &path, ImageMemory &memory);

/// Decodes what a part of the image needs, and finds the part there. Of a JPEG
/// in one scan, what follows the part is not looked at, but its end must be
/// there.
runtime::Status decodePart(std::span<const uint8_t> file,
                           const RandomPart &part, ImagePart &to);
runtime::Status readPart(const std::string &path, const RandomPart &part,
                         ImageMemory &memory);

/// Whether a file name has the extension of an image.
bool hasImageName(const std::string &path);

/// Writes an image as channels x height x width values in [0, 1]. The image is
/// scaled to cover that area, its shape kept, and cropped to the middle. Grey
/// from RGB is (19595 R + 38470 G + 7471 B + 32768) / 65536 in integers; RGB
/// from grey repeats the grey. A pixel of the scaled image is the mean under a
/// triangle as wide as two pixels of the smaller image.
void fitImage(const Image &image, const ImageShape &shape, ImageMemory &memory,
              float *to);

/// Scales a part of an image to the area, whatever its shape: torchvision's
/// resized_crop. Pixels outside the box have no influence.
void cropImage(const ImagePart &part, const ImageShape &shape,
               ImageMemory &memory, float *to);

} // namespace gradus::data
