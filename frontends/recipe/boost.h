// AutoBoost's document: MindSpore's way of asking for training methods. It is
// read as it is and becomes keys of the recipe, one for each method;
// docs/methods/boost.md has the table.

#pragma once

#include "recipe/field.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gradus::recipe {

/// The key `boost`: a document, or its level alone.
Field boost();

/// The flag of a method whose section has this path in the recipe,
/// "boost.boost.dim_reduce" of "boost.dim_reduce"; empty: it is no such
/// section.
std::string flagOfSection(std::string_view path);

/// The document with every flag said: on or off, by its level and mode, and by
/// whether the recipe says that dim_reduce is off. It has been checked and has
/// all defaults. Resolving twice is resolving once.
nlohmann::ordered_json resolvedBoost(
    nlohmann::ordered_json document,
    const nlohmann::ordered_json &recipe = nlohmann::ordered_json::object());

/// Something that a resolved document asks for and lacks, in it and in the
/// checked recipe.
struct BoostMistake {
  std::string path, words; // "boost.boost.dim_reduce", "is on, and ..."
};
std::vector<BoostMistake> boostMistakes(const nlohmann::ordered_json &document,
                                        const nlohmann::ordered_json &recipe);

/// Adds to a recipe the keys of the methods that a resolved document switches
/// on. A key that the recipe has itself stays as it is; null says nothing.
void addBoostedKeys(const nlohmann::ordered_json &document,
                    nlohmann::ordered_json &recipe);

/// Says that boost's AdaSum wins over a way to reduce that a recipe gives, in a
/// checked recipe; empty if it does not.
std::string overriddenReduce(const nlohmann::ordered_json &given,
                             const nlohmann::ordered_json &recipe);

/// Lists what a resolved document says without effect in a checked recipe,
/// because a key of the recipe wins or because nothing uses it.
std::vector<std::string> boostRemarks(const nlohmann::ordered_json &document,
                                      const nlohmann::ordered_json &recipe);

/// Flags that a document says, before it is resolved, and its mode, dim_reduce
/// or the recipe passes over.
std::vector<std::string> passedOverFlags(const nlohmann::ordered_json &document,
                                         const nlohmann::ordered_json &recipe);

/// Whether a resolved document switches anything on.
bool boostsAnything(const nlohmann::ordered_json &document);

} // namespace gradus::recipe
