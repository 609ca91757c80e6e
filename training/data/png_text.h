// Writes an image as a PNG in text, as pages hold it.

#pragma once

#include "training/data/image_file.h"

#include <string>

namespace gradus::data {

/// Returns "data:image/png;base64,..." of an image. The text is empty if the
/// image has no pixel, more or fewer bytes than its sizes say, other channels
/// than 1 or 3, or a side that no PNG can have.
std::string pngText(const Image &image);

} // namespace gradus::data
