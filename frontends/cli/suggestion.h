// Suggests what a user may have meant by an unknown word.

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// Says "; did you mean 'train'?", or nothing.
std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known);

} // namespace gradus::cli
