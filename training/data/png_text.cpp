// Uses libpng's interface for whole images.

#include "training/data/png_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <png.h>

#include <limits>

namespace gradus::data {

/// Whether there is a byte for each channel of each pixel, as libpng expects.
static bool isWhole(const Image &image) {
  constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
  auto fits = [](int64_t size) { return size > 0 && size <= kLongest; };
  return fits(image.width) && fits(image.height) &&
         (image.channels == 1 || image.channels == 3) &&
         image.pixels.size() ==
             uint64_t(image.width) * image.height * image.channels;
}

std::string pngText(const Image &image) {
  if (!isWhole(image))
    return "";
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = image.width;
  header.height = image.height;
  header.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t bytes = 0;
  auto write = [&](void *to) {
    return png_image_write_to_memory(&header, to, &bytes,
                                     /*convert_to_8_bit=*/0,
                                     image.pixels.data(), /*row_stride=*/0,
                                     /*colormap=*/nullptr);
  };
  if (!write(nullptr)) // finds the size
    return "";
  std::string file(bytes, '\0');
  if (!write(file.data()))
    return "";
  return absl::StrCat("data:image/png;base64,",
                      absl::Base64Escape(file.substr(0, bytes)));
}

} // namespace gradus::data
