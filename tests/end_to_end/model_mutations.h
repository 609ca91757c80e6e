// Damaged models and recipes: none may crash or hang the compiler.
//
// Mutation k is a function of (model, recipe, seed, k), so a failure can be
// repeated alone. One in four damages the model's bytes, two its structure
// (nodes, edges, attributes, shapes, types, names, values), one the recipe.
#pragma once

#include <cstdint>
#include <string>

namespace gradus::test {

/// A model file and a recipe, both as bytes.
struct ModelAndRecipe {
  std::string model, recipe;
};

/// The recipe for this model: without the output of another, with a size for
/// each symbolic dimension.
std::string recipeFor(const std::string &model, const std::string &recipe);

ModelAndRecipe mutated(const ModelAndRecipe &whole, uint64_t seed,
                       int64_t number);

} // namespace gradus::test
