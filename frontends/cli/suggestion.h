// Suggests what a user may have meant by an unknown word.

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// The known word with the fewest letters to change; empty if all need about
/// half of their letters or more. The case of letters counts last.
std::string nearest(const std::string &word,
                    const std::vector<std::string> &known);

/// Says "; did you mean 'train'?", or nothing.
std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known);

} // namespace gradus::cli
