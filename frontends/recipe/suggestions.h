// Says what a recipe may have meant by a word that is not known: a synonym
// (recipe/synonyms.def), or else the nearest name.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus::recipe {

using Names = std::vector<std::string_view>;

/// For an unknown key in the object at `path`, which has the keys `known`:
/// `; did you mean "learning_rate"?`, or all that is known if nothing is near.
/// With `hasThor` the recipe's optimizer is `thor`, which has the keys of
/// `precondition` itself.
std::string suggestionForKey(std::string_view path, std::string_view word,
                             const Names &known, bool hasThor = false);

/// The same for an unknown value, or type of a variant.
std::string suggestionForValue(std::string_view word, const Names &known);

} // namespace gradus::recipe
