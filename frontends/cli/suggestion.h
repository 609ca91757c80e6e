// What a user may have meant by a word that is not known.

#pragma once

#include <string>
#include <vector>

namespace gradus::cli {

/// The known word that takes the fewest letters to put right; empty where all
/// take about half of them or more. The case of letters counts last.
std::string nearest(const std::string &word,
                    const std::vector<std::string> &known);

/// "; did you mean 'train'?", or nothing.
std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known);

} // namespace gradus::cli
