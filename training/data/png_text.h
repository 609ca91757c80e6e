// Writes an image as a PNG in text, as pages hold it.

#pragma once

#include "training/data/image_file.h"

#include <string>

namespace gradus::data {

/// "data:image/png;base64,..." of an image; empty if it has no pixel or cannot
/// be written.
std::string pngText(const Image &image);

} // namespace gradus::data
