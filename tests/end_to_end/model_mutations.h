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

/// A model with one to three changes of its structure, or of its bytes where
/// these are no model.
std::string editedModel(const std::string &model, uint64_t seed);
/// A model with nodes and values of another in place of its own, or beside
/// them.
std::string graftedModel(const std::string &model, const std::string &donor,
                         uint64_t seed);
/// A recipe with one to three changes of its keys and values.
std::string editedRecipe(const std::string &recipe, uint64_t seed);
/// A recipe with a key of another's, at any depth.
std::string graftedRecipe(const std::string &recipe, const std::string &donor,
                          uint64_t seed);

} // namespace gradus::test
