// Suggests what a user may have meant by an unknown word.

#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradus::cli {

/// Says "; did you mean 'train'?", or nothing.
std::string suggestion(const std::string &word,
                       const std::vector<std::string> &known);

/// The options of each command, by its name.
using Commands = std::map<std::string, std::vector<std::string>>;

/// Says what an unknown option of a command may mean: a key or an option that
/// other tools call so (recipe/synonyms.def), an option of another command, or
/// the nearest one. It may be a flag of a plug-in where none was named.
std::string suggestedOption(const std::string &option,
                            const std::string &command, const Commands &all,
                            bool hasPlugins = false);

} // namespace gradus::cli
